"""Timers: functions of the program that run periodically along with the controllers."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from masthead._cache.callables import is_coroutine_function
from masthead._controller.client_arguments import check_client_argument, client_arguments, function_name
from masthead._controller.stacks import describe_task
from masthead._controller.user_errors import describe_error, ends_caller, with_user_frames
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from masthead._controller.controller_services import ControllerServices

__all__ = ["TIMER_TASK_PREFIX", "TimerSpec", "check_interval", "drain_timers", "start_timers"]

TIMER_TASK_PREFIX: Final = "timer "

_log: Final = logging.getLogger("masthead.controller")


@set_module("masthead.controller")
@dataclass(frozen=True, slots=True)
class TimerSpec:
    """A declared timer.

    Attributes:
        function: A coroutine function, or a plain one to call in a thread.
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
            raise ArgumentError(f"a timer is a function, not {function_name(function)}", value=function)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ArgumentError(
                f"{function_name(function)} is a generator function, whose body would not run: return instead of yield",
                value=function,
            )
        check_client_argument("timer", self.function)

    @property
    def name(self) -> str:
        """The name for logs."""
        return function_name(self.function)

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return is_coroutine_function(self.function)


def check_interval(seconds: object) -> None:
    """Check the interval of a timer.

    Raises:
        ArgumentError: If it is not a positive number of seconds.
    """
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and 0 < cast("float", seconds) < float("inf"):
        return
    value = function_name(seconds) if callable(seconds) else repr(seconds)
    raise ArgumentError(
        f"a timer needs a number of seconds, more than 0, not {value}: write @manager.timer(60)",
        value=seconds,
    )


def start_timers(
    timers: Iterable[TimerSpec], services: ControllerServices, stopping: asyncio.Event
) -> list[asyncio.Task[None]]:
    """Start timers. They end when `stopping` is set, after any running call."""
    create_task = asyncio.get_running_loop().create_task
    return [
        create_task(_run_timer(timer, services, stopping), name=f"{TIMER_TASK_PREFIX}{timer.name}") for timer in timers
    ]


async def drain_timers(tasks: Sequence[asyncio.Task[None]], timeout: float) -> None:
    """Wait up to `timeout` seconds for stopping timers to finish their calls."""
    busy = (await asyncio.wait(tasks, timeout=timeout))[1] if tasks else ()
    if busy:
        _log.warning(
            "timers are cancelled that took longer than %g s to finish: %s",
            timeout,
            ", ".join(sorted(describe_task(task.get_name(), task) for task in busy)),
        )


async def _run_timer(timer: TimerSpec, services: ControllerServices, stopping: asyncio.Event) -> None:
    """Call a function periodically until `stopping` is set or the task is cancelled."""
    label = f"{TIMER_TASK_PREFIX}{timer.name}"
    while not await _wait_set(stopping, timer.seconds):
        try:
            await _call_timer(timer, services)
        except BaseException as error:
            if ends_caller(error):
                raise
            # A failure does not change the schedule: the next call comes at its time.
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


async def _wait_set(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


async def _call_timer(timer: TimerSpec, services: ControllerServices) -> None:
    """Call a coroutine function on the loop, or a plain one in a thread.

    Raises:
        ArgumentError: If a plain function returns a coroutine.
        BaseException: Whatever the function raises.
    """
    arguments = client_arguments(timer.function, services.client)
    if timer.is_async:
        await cast("Awaitable[object]", timer.function(*arguments))
        return
    result = await services.threads.call_plain(timer.function, *arguments)
    if inspect.iscoroutine(result):
        # It was created with a blocking client, so awaiting it here would block the event loop.
        result.close()
        raise ArgumentError(
            f"{timer.name} is a plain function that returns a coroutine, which nothing awaits: write `async def` and "
            "await it",
            value=result,
        )
