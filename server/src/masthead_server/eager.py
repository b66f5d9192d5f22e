"""Runs coroutines without a task up to their first wait: most writes of the server itself await nothing.

A write of a controller is complete when the call returns, unless it waits for an admission webhook. Only then, the
rest becomes a task.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from masthead_server.wrapped_coroutine import WrappedCoroutine

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead_server.clock import Timer

__all__ = ["BackgroundTasks", "start"]

T = TypeVar("T")
_log: Final = logging.getLogger("masthead.server")
_FIRST_RETRY: Final = 1.0
_MAX_RETRY: Final = 1000.0
"""Seconds until a failed write is tried again; the delay doubles each time."""


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
        call_later: Calls a function after so many seconds, for retries.
    """

    def __init__(
        self, on_idle: Callable[[], object], call_later: Callable[[float, Callable[[], object]], Timer]
    ) -> None:
        self._on_idle = on_idle
        self._call_later = call_later
        self._running: set[asyncio.Future[None]] = set()
        self._retries: set[Timer] = set()

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

    def insist(self, work: Callable[[], Coroutine[Any, Any, None]], *, retry_after: float = _FIRST_RETRY) -> None:
        """Run a coroutine as `run` does, and again until it succeeds: nobody waits for what the kubelet writes.

        Args:
            work: Makes the coroutine of an attempt.
            retry_after: Seconds until the next attempt; the delay doubles each time.
        """
        started = start(work())
        if started.done():
            self._retry_failed(work, retry_after, started)
            return
        self._running.add(started)
        # First, so that the server does not become idle before the retry is scheduled.
        started.add_done_callback(partial(self._retry_failed, work, retry_after))
        started.add_done_callback(self._end_attempt)

    def close(self) -> None:
        """Cancel all of them."""
        for running in tuple(self._running):
            running.cancel()
        for timer in self._retries:
            timer.cancel()

    def _retry_failed(
        self, work: Callable[[], Coroutine[Any, Any, None]], seconds: float, ended: asyncio.Future[None]
    ) -> None:
        if ended.cancelled() or (error := ended.exception()) is None:
            return
        _log.error("a write of the server itself failed; it is tried again later: %s", error, exc_info=error)

        def retry() -> None:
            self._retries.discard(timer)
            self.insist(work, retry_after=min(2 * seconds, _MAX_RETRY))

        timer = self._call_later(seconds, retry)
        self._retries.add(timer)

    def _end(self, ended: asyncio.Future[None]) -> None:
        if not ended.cancelled() and (error := ended.exception()) is not None:
            _log.error("a write of the server itself failed: %s", error, exc_info=error)
        self._end_attempt(ended)

    def _end_attempt(self, ended: asyncio.Future[None]) -> None:
        self._running.discard(ended)
        if not self._running:
            self._on_idle()
