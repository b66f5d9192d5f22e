"""Sources of external events: async generators that yield objects to reconcile."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from masthead._controller.client_arguments import check_client_argument, client_arguments, function_name
from masthead._controller.event_source import requests_of
from masthead._controller.user_errors import describe_error, ends_caller, with_user_frames
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead._controller.controller import Controller
    from masthead._controller.controller_services import ControllerServices
    from masthead._controller.reconcile_loop import ReconcileLoop

__all__ = ["SOURCE_TASK_PREFIX", "SourceSpec", "run_source", "start_sources"]

SOURCE_TASK_PREFIX: Final = "source "

_log: Final = logging.getLogger("masthead.controller")
_MAX_BURST: Final = 64
"""Number of items taken from a source before the event loop gets a turn."""


@set_module("masthead.controller")
@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A declared source of external events.

    Attributes:
        function: An async generator function that yields objects to reconcile.
        controller: The controller that reconciles them.

    Raises:
        ArgumentError: If the function is not an async generator function, or takes more than the client.
    """

    function: Callable[..., Any]
    controller: Controller[Any]

    def __post_init__(self) -> None:
        if not inspect.isasyncgenfunction(self.function):
            raise ArgumentError(
                f"{function_name(self.function)} is not an async generator function: write `async def` and `yield` "
                "what to reconcile",
                value=self.function,
            )
        check_client_argument("source", self.function)

    @property
    def name(self) -> str:
        """The name for logs."""
        return function_name(self.function)


def start_sources(
    sources: Iterable[SourceSpec], services: ControllerServices, loop: ReconcileLoop
) -> list[asyncio.Task[None]]:
    """Start the sources of a controller. They run until cancelled."""
    create_task = asyncio.get_running_loop().create_task
    return [
        create_task(run_source(source, services, loop), name=f"{SOURCE_TASK_PREFIX}{source.name}") for source in sources
    ]


async def run_source(source: SourceSpec, services: ControllerServices, loop: ReconcileLoop) -> None:
    """Enqueue the items of a source until it ends or is cancelled. A failed source restarts after a backoff."""
    backoff = Backoff()
    label = f"{SOURCE_TASK_PREFIX}{source.name}"
    count = 0
    while True:
        try:
            async for item in source.function(*client_arguments(source.function, services.client)):
                for request in requests_of(item, namespaced=loop.is_namespaced):
                    loop.requests.enqueue(request, None, label, 0)
                # An item proves that the source works again.
                backoff.reset()
                services.failures.clear(label)
                count += 1
                # A generator that never awaits anything would starve the event loop.
                if count % _MAX_BURST == 0:
                    await asyncio.sleep(0)
        except BaseException as error:
            if ends_caller(error):
                raise
            now = asyncio.get_running_loop().time()
            delay = backoff.next(now, services.random)
            services.failures.add(label, error)
            _log.error(
                "source %s failed, and is started again in %.1f s: %s",
                source.name,
                delay,
                describe_error(error),
                exc_info=with_user_frames(error),
            )
            await asyncio.sleep(delay)
        else:
            services.failures.clear(label)
            _log.info("source %s has ended", source.name)
            return
