"""The work queue of an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._module import set_module
from masthead._sansio.workqueue import OLDEST_EVERY
from masthead._workqueue.base import WorkQueueBase
from masthead.errors import DeadlineError, QueueClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from masthead._sansio.rate_limiters import QueueRateLimiter
    from masthead.metrics import Metrics

__all__ = ["WorkQueue"]

K = TypeVar("K", bound=Hashable)

_STREAK: Final = 64
"""After so many keys the loop gets a turn, even if its workers never wait for anything."""


@set_module("masthead.aio")
class WorkQueue(WorkQueueBase[K]):
    """A queue of keys to process: deduplicated, with delays, rate limits and priorities.

    ::

        queue = masthead.aio.WorkQueue[str]()
        queue.add("default/web")
        queue.add("default/web")  # is enqueued once
        queue.close()  # the loop ends when nothing is left; without it, it waits for more
        async for key in queue:
            try:
                print("reconciling", key)
            except masthead.MastheadError:
                queue.add_rate_limited(key)
            else:
                queue.forget(key)
            finally:
                queue.done(key)

    A key is never handed out to two workers at once: one that is added while it is processed is handed out again after
    `done`, which must be called for each key that `get` returned. Of the keys that are ready, those of the highest
    priority come first, in the order in which they were added. While several priorities are ready, one in `oldest_every`
    keys is the one that has waited longest, so that none waits forever.

    Threads: `get`, `drain` and iteration belong to one event loop, all other methods to any thread.

    Args:
        name: What metrics call it.
        rate_limiter: The delays of `add_rate_limited`; by default `masthead.workqueue.default_rate_limiter`. A limiter
            belongs to one queue.
        metrics: Where to count, if the queue has a name.
        oldest_every: How often the oldest key comes first; at least 2.

    Raises:
        ArgumentError: If `oldest_every` is less than 2.
    """

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
        self._streak = 0
        with contextlib.suppress(RuntimeError):
            self._bind(asyncio.get_running_loop())

    async def get(self, *, timeout: float | None = None) -> K:
        """Wait for the next key. It is being processed from then on, until `done`.

        A cancelled call takes no key. (Not so through `asyncio.wait_for` of Python 3.11, which may lose the result; use
        `timeout` or `asyncio.timeout`.)

        Args:
            timeout: How many seconds to wait; None for as long as it takes.

        Raises:
            QueueClosedError: If the queue is closed, and nothing is left to hand out.
            DeadlineError: If no key came within `timeout`.
        """
        self._streak += 1
        if self._streak >= _STREAK:
            self._streak = 0
            await asyncio.sleep(0)
        with self._lock:
            key = self._take()
        if key is not None:
            return key
        if timeout is None:
            return await self._wait()
        try:
            async with asyncio.timeout(timeout):
                return await self._wait()
        except TimeoutError:
            raise DeadlineError(f"{self._described()} had no key within {timeout:g} s") from None

    async def __aiter__(self) -> AsyncIterator[K]:
        """The keys as they come, until the queue is closed and empty. `done` must be called for each."""
        while True:
            try:
                key = await self.get()
            except QueueClosedError:
                return
            yield key

    @contextlib.asynccontextmanager
    async def processing(self) -> AsyncGenerator[K]:
        """Wait for the next key, and call `done` at the end of the block.

        Raises:
            QueueClosedError: If the queue is closed, and nothing is left to hand out.
        """
        key = await self.get()
        try:
            yield key
        finally:
            self.done(key)

    def close(self) -> None:
        """Accept no more keys, drop the delayed ones, and end a `drain` that waits. It may be called from any thread.

        Keys that are enqueued are still handed out; then `get` raises `QueueClosedError`.
        """
        with self._lock:
            self._state.close()
            self._on_loop(self._end_waits)

    async def drain(self, *, timeout: float | None = None) -> bool:
        """Close the queue, and wait until no key is left: neither enqueued nor being processed.

        A later `close` ends the wait.

        Args:
            timeout: How many seconds to wait; None for as long as it takes.

        Returns:
            Whether all keys are done.
        """
        loop = self._bind(asyncio.get_running_loop())
        with self._lock:
            self._state.close()
            self._notify_ended()
            if self._state.is_idle:
                return True
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

    async def _wait(self) -> K:
        loop = self._bind(asyncio.get_running_loop())
        while True:
            with self._lock:
                key = self._take()
                if key is not None:
                    return key
                if self._state.is_exhausted:
                    raise QueueClosedError(f"{self._described()} is closed and empty")
                waiter = loop.create_future()
                self._waiters.append(waiter)
                self._has_waiters = True
                self._set_timer()
            self._streak = 0
            try:
                await waiter
            except asyncio.CancelledError:
                self._pass_on(waiter)
                raise

    def _pass_on(self, waiter: asyncio.Future[None]) -> None:
        """A worker is cancelled while it waits: if a key has woken it already, wake another one."""
        with self._lock:
            if waiter.done() and not waiter.cancelled():
                if len(self._state):
                    self._wake(1)
            else:
                with contextlib.suppress(ValueError):
                    self._waiters.remove(waiter)
                self._has_waiters = bool(self._waiters)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
        """Remember the event loop. What was added before is moved to its clock."""
        if loop is self._loop:
            return loop
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError(f"{self._described()} belongs to another event loop")
        with self._lock:
            before = self._clock()
            self._clock = _clock_of(loop)
            self._state.rebase(self._clock() - before)
            self._loop, self._thread = loop, threading.get_ident()
            # Whatever waited on a loop that is closed now waits no more.
            self._waiters.clear()
            self._drainers.clear()
            self._has_waiters = self._is_wake_scheduled = False
            self._timer = None
        return loop

    def _on_loop(self, call: Callable[[], None]) -> None:
        """Have something done on the loop's thread, at once if it is the current one. The lock is held meanwhile."""
        if self._loop is None:
            return  # nobody has waited so far
        if threading.get_ident() == self._thread:
            call()
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._locked, call)

    def _locked(self, call: Callable[[], None]) -> None:
        with self._lock:
            call()

    def _notify_ready(self) -> None:
        if threading.get_ident() == self._thread:
            self._wake(1)
        elif not self._is_wake_scheduled:  # one call on the loop serves all keys that are added until then
            self._is_wake_scheduled = True
            self._on_loop(self._wake_ready)

    def _wake_ready(self) -> None:
        self._is_wake_scheduled = False
        self._wake(len(self._state))

    def _notify_delayed(self) -> None:
        self._on_loop(self._set_timer)

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
        """Wake so many workers. They take a key, or wait again if others were faster."""
        waiters = self._waiters
        while count > 0 and waiters:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1
        self._has_waiters = bool(waiters)

    def _set_timer(self) -> None:
        """Wake up when the next delay ends, if a worker waits."""
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
            # The loop may call a little early.
            self._wake(self._state.promote(max(due, self._clock())))
            self._set_timer()


def _resolve(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
    futures.clear()


def _clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """The loop's clock; without its Python frame, where it is the usual one."""
    return time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time
