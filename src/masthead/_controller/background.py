"""What runs beside the controllers: sources of external events, and timers."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._controller.declarations import positional_count
from masthead._controller.event_source import requests_of
from masthead._controller.user_errors import ends_caller
from masthead._sansio.backoff import Backoff
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._client.client import Client
    from masthead._controller.controller import Controller
    from masthead._controller.reconcile_loop import ReconcileLoop
    from masthead._controller.services import ControllerServices

__all__ = ["SourceSpec", "TimerSpec", "run_source", "run_timer"]

_log: Final = logging.getLogger("masthead.controller")
_BURST: Final = 64
"""How many items of a source are enqueued before everything else has a turn."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source of external events.

    Attributes:
        function: An async generator function that yields what to reconcile.
        controller: The controller that reconciles it.

    Raises:
        InvalidValueError: If it is not an async generator function.
    """

    function: Callable[..., Any]
    controller: Controller[Any]

    def __post_init__(self) -> None:
        if not inspect.isasyncgenfunction(self.function):
            raise InvalidValueError(
                f"{_title(self.function)} is not an async generator function: write `async def` and `yield` what to "
                "reconcile",
                value=self.function,
            )

    @property
    def name(self) -> str:
        """What logs call it."""
        return _title(self.function)


@dataclass(frozen=True, slots=True)
class TimerSpec:
    """A function that is called periodically.

    Attributes:
        function: The function; a plain one must not block.
        seconds: The time between the end of one call and the next.

    Raises:
        InvalidValueError: If the time is not positive.
    """

    function: Callable[..., object]
    seconds: float

    def __post_init__(self) -> None:
        is_number = isinstance(cast("object", self.seconds), int | float) and not isinstance(
            self.seconds, bool
        )
        if not is_number or not 0 < self.seconds < float("inf"):
            raise InvalidValueError(
                f"a timer needs a number of seconds, more than 0, not {self.seconds!r}", value=self.seconds
            )

    @property
    def name(self) -> str:
        """What logs call it."""
        return _title(self.function)


def _title(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def _arguments(function: Callable[..., object], client: Client) -> tuple[object, ...]:
    return (client,) if positional_count(function) else ()


async def run_source(source: SourceSpec, services: ControllerServices, loop: ReconcileLoop) -> None:
    """Enqueue what a source yields, until it ends or the task is cancelled; after an error, start it again."""
    backoff = Backoff()
    count = 0
    while True:
        try:
            async for found in source.function(*_arguments(source.function, services.client)):
                for request in requests_of(found):
                    loop.enqueue(request, None, f"source {source.name}", 0)
                backoff.reset()
                count += 1
                # A generator that never waits itself must not keep the event loop from everything else.
                if count % _BURST == 0:
                    await asyncio.sleep(0)
        except BaseException as error:
            if ends_caller(error):
                raise
            now = asyncio.get_running_loop().time()
            delay = backoff.next(now, services.random)
            _log.exception("source %s failed, and is started again in %.1f s", source.name, delay)
            await asyncio.sleep(delay)
        else:
            _log.info("source %s has ended", source.name)
            return


async def run_timer(timer: TimerSpec, services: ControllerServices) -> None:
    """Call a function periodically, until the task is cancelled."""
    while True:
        await asyncio.sleep(timer.seconds)
        try:
            made = timer.function(*_arguments(timer.function, services.client))
            if inspect.isawaitable(made):
                await made
        except BaseException as error:
            if ends_caller(error):
                raise
            _log.exception("timer %s failed, and is called again in %g s", timer.name, timer.seconds)
