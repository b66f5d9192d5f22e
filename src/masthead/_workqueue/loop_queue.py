"""A work queue for tasks of an event loop: waiting and waking."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeVar

from masthead._sansio.workqueue import OLDEST_EVERY
from masthead._workqueue.base import WorkQueueBase
from masthead.errors import DeadlineError, QueueClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.rate_limiters import QueueRateLimiter
    from masthead.metrics import Metrics

__all__ = ["LoopQueue"]

K = TypeVar("K", bound=Hashable)


class LoopQueue(WorkQueueBase[K]):
    """Waits on futures of one event loop. Any thread may add keys."""

    _MAX_STREAK = 64
    """Workers that never wait for anything else would starve the event loop."""

    def __init__(
        self,
        name: str = "",
        *,
        rate_limiter: QueueRateLimiter[K] | None = None,
        metrics: Metrics | None = None,
        oldest_every: int = OLDEST_EVERY,
    ) -> None:
        super().__init__(name, rate_limiter=rate_limiter, metrics=metrics, oldest_every=oldest_every)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._drainers: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_wake_scheduled = False
        with contextlib.suppress(RuntimeError):  # created outside of a loop: the first `get` binds it
            self._bind(asyncio.get_running_loop())

    async def _drain(self, timeout: float | None) -> bool:
        """Close the queue, and wait for its last key; return whether none is left."""
        loop = self._bind(asyncio.get_running_loop())
        with self._lock:
            self._state.close()
            self._notify_ended()
            if self._state.is_idle:
                return True
            # Registered under the lock: the last key may be done before the wait.
            drained = loop.create_future()
            self._drainers.append(drained)
        try:
            async with asyncio.timeout(timeout):
                await drained
        except TimeoutError:
            pass
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._drainers.remove(drained)
        return self._state.is_idle

    async def _wait(self, timeout: float | None) -> K:
        """Wait for a key.

        Raises:
            QueueClosedError: If the queue is closed and empty.
            DeadlineError: If no key is ready within the timeout.
        """
        # A queue that is never empty would not let other tasks run.
        if self._streak >= self._MAX_STREAK:
            self._streak = 0
            await asyncio.sleep(0)
        if timeout is None:
            return await self._wait_for_key()
        try:
            async with asyncio.timeout(timeout):
                return await self._wait_for_key()
        except TimeoutError:
            raise DeadlineError(f"{self._describe()} had no key within {timeout:g} s") from None

    async def _wait_for_key(self) -> K:
        loop = self._bind(asyncio.get_running_loop())
        while True:
            self._streak = 0
            with self._lock:
                key = self._take()
                if key is not None:
                    return key
                if self._state.is_exhausted:
                    raise QueueClosedError(f"{self._describe()} is closed and empty")
                waiter = loop.create_future()
                self._waiters.append(waiter)
                # The base class knows waiting workers only by this flag.
                self._has_waiters = True
                self._set_timer()
            try:
                await waiter
            except asyncio.CancelledError:
                self._pass_on(waiter)
                raise

    def _pass_on(self, waiter: asyncio.Future[None]) -> None:
        """Handle a cancelled worker: if a key had woken it already, wake another one for the key."""
        with self._lock:
            if waiter.done() and not waiter.cancelled():
                if len(self._state):
                    self._wake(1)
            else:
                with contextlib.suppress(ValueError):
                    self._waiters.remove(waiter)
                self._has_waiters = bool(self._waiters)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
        """Bind the queue to an event loop, and convert all times to its clock."""
        if loop is self._loop:
            return loop
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError(f"{self._describe()} belongs to another event loop")
        with self._lock:
            before = self._clock()
            self._clock = _clock_of(loop)
            # Delays were computed by another clock, with another zero.
            self._state.rebase(self._clock() - before)
            self._loop, self._thread = loop, threading.get_ident()
            # Waiters of the previous loop ended with it.
            self._waiters.clear()
            self._drainers.clear()
            self._has_waiters = self._is_wake_scheduled = False
            self._timer = None
        return loop

    def _on_loop(self, call: Callable[[], None]) -> None:
        """Call a function under the lock on the loop's thread; immediately if that is the current one."""
        if self._loop is None:
            return  # no worker has waited yet
        if threading.get_ident() == self._thread:
            call()
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._call_locked, call)

    def _call_locked(self, call: Callable[[], None]) -> None:
        with self._lock:
            call()

    def _notify_ready(self) -> None:
        if threading.get_ident() == self._thread:
            self._wake(1)
        elif not self._is_wake_scheduled:  # one call on the loop serves all keys added before it
            self._is_wake_scheduled = True
            self._on_loop(self._wake_ready)

    def _wake_ready(self) -> None:
        self._is_wake_scheduled = False
        self._wake(len(self._state))

    def _notify_delayed(self) -> None:
        self._on_loop(self._set_timer)

    def _notify_closed(self) -> None:
        self._on_loop(self._end_waits)

    def _notify_ended(self) -> None:
        self._on_loop(self._end_if_over)

    def _end_if_over(self) -> None:
        if self._state.is_exhausted:
            self._wake(len(self._waiters))
        if self._state.is_idle:
            _resolve(self._drainers)

    def _end_waits(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake(len(self._waiters))
        _resolve(self._drainers)

    def _wake(self, count: int) -> None:
        """Wake a number of workers. They take a key, or wait again if others were faster."""
        waiters = self._waiters
        while count > 0 and waiters:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1
        self._has_waiters = bool(waiters)

    def _set_timer(self) -> None:
        """Set the timer to the end of the next delay, if a worker waits."""
        due = self._state.next_time() if self._waiters else None
        if due is None or self._loop is None:
            return
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._on_timer, due)

    def _on_timer(self, due: float) -> None:
        with self._lock:
            self._timer = None
            # The loop may call early by its clock resolution; the key is due all the same.
            self._wake(self._state.promote(max(due, self._clock())))
            self._set_timer()


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
    futures.clear()


def _clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """Return the loop's clock; for the standard loop the C function behind it, which is faster."""
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
