"""What runs beside the controllers: sources of external events, and timers."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._cache.callables import is_coroutine_function
from masthead._controller.declarations import positional_count
from masthead._controller.event_source import requests_of
from masthead._controller.stacks import describe_task
from masthead._controller.user_errors import describe_error, ends_caller, with_user_frames
from masthead._sansio.backoff import Backoff
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from masthead._client.client import Client
    from masthead._controller.controller import Controller
    from masthead._controller.reconcile_loop import ReconcileLoop
    from masthead._controller.services import ControllerServices

__all__ = [
    "SourceSpec",
    "TimerSpec",
    "check_interval",
    "describe_background",
    "drain_timers",
    "run_source",
    "start_sources",
    "start_timers",
]

_log: Final = logging.getLogger("masthead.controller")
_TIMER: Final = "timer "
_SOURCE: Final = "source "
_BURST: Final = 64
"""How many items of a source are enqueued before everything else has a turn."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A source of external events.

    Attributes:
        function: An async generator function that yields what to reconcile.
        controller: The controller that reconciles it.

    Raises:
        ArgumentError: If it is not an async generator function, or takes more than the client.
    """

    function: Callable[..., Any]
    controller: Controller[Any]

    def __post_init__(self) -> None:
        if not inspect.isasyncgenfunction(self.function):
            raise ArgumentError(
                f"{_title(self.function)} is not an async generator function: write `async def` and `yield` what to "
                "reconcile",
                value=self.function,
            )
        _check_arguments("source", self.function)

    @property
    def name(self) -> str:
        """What logs call it."""
        return _title(self.function)


@dataclass(frozen=True, slots=True)
class TimerSpec:
    """A function that is called periodically.

    Attributes:
        function: The function: a coroutine function, or a plain one, which is called in a thread.
        seconds: The time between the end of one call and the next.

    Raises:
        ArgumentError: If the time is not positive, or the function cannot be called with the client or nothing.
    """

    function: Callable[..., object]
    seconds: float

    def __post_init__(self) -> None:
        check_interval(self.seconds)
        function = cast("object", self.function)
        if isinstance(function, type) or not callable(function):
            raise ArgumentError(f"a timer is a function, not {_title(function)}", value=function)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ArgumentError(
                f"{_title(function)} is a generator function, whose body would not run: return instead of yield",
                value=function,
            )
        _check_arguments("timer", self.function)

    @property
    def name(self) -> str:
        """What logs call it."""
        return _title(self.function)

    @property
    def is_async(self) -> bool:
        """Whether it is a coroutine function."""
        return is_coroutine_function(self.function)


def check_interval(seconds: object) -> None:
    """Check the time between two calls of a timer.

    Raises:
        ArgumentError: If it is not a positive number of seconds.
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and 0 < cast("float", seconds) < float("inf"):
        return
    given = _title(seconds) if callable(seconds) else repr(seconds)
    raise ArgumentError(
        f"a timer needs a number of seconds, more than 0, not {given}: write @manager.timer(60)",
        value=seconds,
    )


def _check_arguments(what: str, function: Callable[..., object]) -> None:
    """Check that a function can be called with the client, or without arguments.

    Raises:
        ArgumentError: If it requires more.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have none
        return
    try:
        signature.bind(*range(min(1, positional_count(function))))
    except TypeError as error:
        raise ArgumentError(
            f"the {what} {_title(function)} cannot be called as {what}() or {what}(client): {error}",
            value=function,
        ) from None


def _title(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))


def _arguments(function: Callable[..., object], client: Client) -> tuple[Client, ...]:
    return (client,) if positional_count(function) else ()


def start_sources(
    sources: Iterable[SourceSpec], services: ControllerServices, loop: ReconcileLoop
) -> list[asyncio.Task[None]]:
    """Start the sources of a controller, which run until they are cancelled."""
    create_task = asyncio.get_running_loop().create_task
    return [create_task(run_source(source, services, loop), name=f"{_SOURCE}{source.name}") for source in sources]


async def run_source(source: SourceSpec, services: ControllerServices, loop: ReconcileLoop) -> None:
    """Enqueue what a source yields, until it ends or the task is cancelled; after an error, start it again."""
    backoff = Backoff()
    label = f"source {source.name}"
    count = 0
    while True:
        try:
            async for found in source.function(*_arguments(source.function, services.client)):
                for request in requests_of(found, namespaced=loop.is_namespaced):
                    loop.enqueue(request, None, label, 0)
                backoff.reset()
                services.failures.clear(label)
                count += 1
                # A generator that never waits itself must not keep the event loop from everything else.
                if count % _BURST == 0:
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


def start_timers(
    timers: Iterable[TimerSpec], services: ControllerServices, stopping: asyncio.Event
) -> list[asyncio.Task[None]]:
    """Start timers, which end when `stopping` is set; a call that is running then is finished."""
    loop = asyncio.get_running_loop()
    return [loop.create_task(_run_timer(timer, services, stopping), name=f"{_TIMER}{timer.name}") for timer in timers]


async def drain_timers(tasks: Sequence[asyncio.Task[None]], within: float) -> None:
    """Wait until timers that are stopping have finished their calls, for so many seconds."""
    busy = (await asyncio.wait(tasks, timeout=within))[1] if tasks else ()
    if busy:
        _log.warning(
            "timers are cancelled that took longer than %g s to finish: %s",
            within,
            ", ".join(describe_background(busy)),
        )


def describe_background(tasks: Iterable[asyncio.Task[None]]) -> list[str]:
    """Name the timers and sources among tasks, with the lines that their coroutines are at."""
    return sorted(
        describe_task(task.get_name(), task)
        for task in tasks
        if task.get_name().startswith((_TIMER, _SOURCE)) and not task.done()
    )


async def _run_timer(timer: TimerSpec, services: ControllerServices, stopping: asyncio.Event) -> None:
    """Call a function periodically, until asked to stop or the task is cancelled.

    Args:
        timer: The function.
        services: Its client, and what runs it in a thread.
        stopping: Ends it; a call that is running then is finished.
    """
    label = f"{_TIMER}{timer.name}"
    while not await _is_set_within(stopping, timer.seconds):
        try:
            await _call_timer(timer, services)
        except BaseException as error:
            if ends_caller(error):
                raise
            services.failures.add(label, error)
            _log.error(
                "timer %s failed, and is called again in %g s: %s",
                timer.name,
                timer.seconds,
                describe_error(error),
                exc_info=with_user_frames(error),
            )
        else:
            services.failures.clear(label)


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def _call_timer(timer: TimerSpec, services: ControllerServices) -> None:
    """Call a coroutine function on the loop, and a plain one in a thread.

    Raises:
        ArgumentError: If a plain function returns a coroutine, which is made for another client.
        BaseException: Whatever the function raises.
    """
    arguments = _arguments(timer.function, services.client)
    if timer.is_async:
        await cast("Awaitable[object]", timer.function(*arguments))
        return
    made = await services.threads.call_timer(timer.function, *arguments)
    if inspect.iscoroutine(made):
        made.close()
        raise ArgumentError(
            f"{timer.name} is a plain function that returns a coroutine, which nothing awaits: write `async def` and await it",
            value=made,
        )
