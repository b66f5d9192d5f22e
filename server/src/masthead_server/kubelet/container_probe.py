"""The probe that a handler decides about."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._module import set_module
from masthead_server.kubelet.handlers import describe, ordinary_errors
from masthead_server.kubelet.probe_rules import ProbeOutcome
from masthead_server.kubelet.process import CommandLine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Executor

    from masthead_server.kubelet.probe_rules import ProbeKind

    AsyncProbeHandler: TypeAlias = Callable[["ContainerProbe"], Awaitable[bool]]
    BlockingProbeHandler: TypeAlias = Callable[["ContainerProbe"], bool]
    ProbeHandler: TypeAlias = AsyncProbeHandler | BlockingProbeHandler

__all__ = ["ContainerProbe", "invoke_probe", "line_of"]

_log: Final = logging.getLogger("masthead.server.kubelet")


@set_module("masthead.server")
@dataclass(frozen=True, slots=True)
class ContainerProbe:
    """A probe that a handler decides about.

    Attributes:
        namespace: The pod's namespace.
        pod: The pod's name.
        container: The container's name.
        kind: ``startup``, ``readiness`` or ``liveness``.
    """

    namespace: str
    pod: str
    container: str
    kind: ProbeKind


def line_of(probe: ContainerProbe) -> CommandLine:
    """Return the words that patterns of handlers match."""
    return CommandLine(probe.namespace, probe.pod, probe.container, (probe.kind,), {})


async def invoke_probe(handler: ProbeHandler, probe: ContainerProbe, threads: Executor) -> ProbeOutcome:
    """Run a handler; any exception is a failure, with the error as output, and so is a result that is no bool."""
    try:
        with ordinary_errors():
            if inspect.iscoroutinefunction(handler):
                answer: object = await cast("AsyncProbeHandler", handler)(probe)
            else:
                loop = asyncio.get_running_loop()
                answer = await loop.run_in_executor(threads, cast("BlockingProbeHandler", handler), probe)
    except Exception as error:  # noqa: BLE001 - whatever a handler raises
        return ProbeOutcome(is_success=False, output=str(error) or describe(error))
    if isinstance(answer, bool):
        return ProbeOutcome(is_success=answer)
    # Neither a success nor a failure can be guessed: a handler without a return would make the pod ready.
    problem = f"the handler of this probe returned {answer!r}, not True or False"
    _log.error("%s probe of %s/%s %s: %s", probe.kind, probe.namespace, probe.pod, probe.container, problem)
    return ProbeOutcome(is_success=False, output=problem)
