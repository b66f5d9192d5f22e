"""The probe that a handler decides about."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from masthead._module import set_module
from masthead_server.kubelet.handlers import describe, ordinary_errors
from masthead_server.kubelet.probe_rules import ProbeOutcome
from masthead_server.kubelet.process import CommandLine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Executor

    from masthead_server.kubelet.probe_rules import ProbeKind

    AsyncProbeHandler: TypeAlias = Callable[["ContainerProbe"], Awaitable[bool | None]]
    BlockingProbeHandler: TypeAlias = Callable[["ContainerProbe"], bool | None]
    ProbeHandler: TypeAlias = AsyncProbeHandler | BlockingProbeHandler

__all__ = ["ContainerProbe", "invoke_probe", "line_of"]


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
    """Run a handler; any exception is a failure, with the error as output."""
    try:
        with ordinary_errors():
            if inspect.iscoroutinefunction(handler):
                answer = await cast("AsyncProbeHandler", handler)(probe)
            else:
                loop = asyncio.get_running_loop()
                answer = await loop.run_in_executor(threads, cast("BlockingProbeHandler", handler), probe)
    except Exception as error:  # noqa: BLE001 - whatever a handler raises
        return ProbeOutcome(is_success=False, output=str(error) or describe(error))
    # None means success, as from a function of assertions.
    return ProbeOutcome(is_success=answer is None or bool(answer))
