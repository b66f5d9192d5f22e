"""Runs coroutines without a task up to their first wait: most writes of the server itself await nothing.

A write of a controller is complete when the call returns, unless it waits for an admission webhook. Only then, the
rest becomes a task.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead_server.wrapped_coroutine import WrappedCoroutine

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

__all__ = ["BackgroundTasks", "start"]

T = TypeVar("T")
_log: Final = logging.getLogger("masthead.server")


def start(coroutine: Coroutine[Any, Any, T], *, pauses: int = 0) -> asyncio.Future[T]:
    """Run a coroutine up to its first wait, and the rest as a task; return a future, which may be done.

    Up to that wait there is no current task, so that ``asyncio.timeout`` does not work there.

    Args:
        coroutine: The coroutine.
        pauses: The number of ``asyncio.sleep(0)`` that do not count as waits.
    """
    loop = asyncio.get_running_loop()
    try:
        awaited = coroutine.send(None)
        while awaited is None and pauses > 0:
            pauses -= 1
            awaited = coroutine.send(None)
    except StopIteration as done:
        result: asyncio.Future[T] = loop.create_future()
        result.set_result(cast("T", done.value))
        return result
    except Exception as error:  # noqa: BLE001 - it is raised to whoever asks for the result
        result = loop.create_future()
        result.set_exception(error)
        return result
    return loop.create_task(_StartedCoroutine(coroutine, awaited))


class _StartedCoroutine(WrappedCoroutine[T]):
    """The rest of a coroutine that has begun to wait, for a task: its first step hands on what is waited for."""

    __slots__ = ("_awaited", "_is_handed_on")

    def __init__(self, coroutine: Coroutine[Any, Any, T], awaited: object) -> None:
        super().__init__(coroutine)
        self._awaited = awaited
        self._is_handed_on = False

    def send(self, value: object, /) -> object:
        """Make a step; return what it waits for."""
        if self._is_handed_on:
            return super().send(value)
        self._is_handed_on = True
        return self._awaited


class BackgroundTasks:
    """Coroutines in the background, such as the write of a timer.

    Args:
        on_idle: Called when the last one has ended.
    """

    def __init__(self, on_idle: Callable[[], object]) -> None:
        self._on_idle = on_idle
        self._running: set[asyncio.Future[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether none is running."""
        return not self._running

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine, without a task up to its first wait. A later error is logged.

        Raises:
            Exception: What the coroutine raises before its first wait.
        """
        started = start(coroutine)
        if started.done():
            started.result()
            return
        self._running.add(started)
        started.add_done_callback(self._end)

    def close(self) -> None:
        """Cancel all of them."""
        for running in tuple(self._running):
            running.cancel()

    def _end(self, ended: asyncio.Future[None]) -> None:
        self._running.discard(ended)
        if not ended.cancelled() and (error := ended.exception()) is not None:
            _log.error("a write of the server itself failed: %s", error, exc_info=error)
        if not self._running:
            self._on_idle()
