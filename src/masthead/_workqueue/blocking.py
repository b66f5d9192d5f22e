"""The work queue for threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeVar

from masthead._module import set_module
from masthead._sansio.workqueue import OLDEST_EVERY
from masthead._workqueue.base import WorkQueueBase
from masthead.errors import DeadlineError, QueueClosedError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from masthead._sansio.rate_limiters import QueueRateLimiter
    from masthead.metrics import Metrics

__all__ = ["WorkQueue"]

K = TypeVar("K", bound=Hashable)


@set_module("masthead")
class WorkQueue(WorkQueueBase[K]):
    """A queue of keys to process: deduplicated, with delays, rate limits and priorities. For threads.

    ::

        queue = masthead.WorkQueue[str]()
        queue.add("default/web")
        queue.add("default/web")  # is enqueued once
        queue.close()  # the loop ends when nothing is left; without it, it waits for more
        for key in queue:
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

    Threads: all methods may be called from any thread, but not from a signal handler, which may interrupt a thread that
    holds the queue's lock.

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
        # One of the waiting threads waits for the end of the next delay, too; the others only for a key.
        self._followers = threading.Condition(self._lock)
        self._timekeeper = threading.Condition(self._lock)
        self._waiting = 0
        self._has_timekeeper = False
        self._ended = threading.Condition(self._lock)
        self._closings = 0

    def get(self, *, timeout: float | None = None) -> K:
        """Wait for the next key. It is being processed from then on, until `done`.

        Args:
            timeout: How many seconds to wait; None for as long as it takes.

        Raises:
            QueueClosedError: If the queue is closed, and nothing is left to hand out.
            DeadlineError: If no key came within `timeout`.
        """
        with self._lock:
            key = self._take()
            return self._wait(timeout) if key is None else key

    def __iter__(self) -> Iterator[K]:
        """The keys as they come, until the queue is closed and empty. `done` must be called for each."""
        while True:
            try:
                key = self.get()
            except QueueClosedError:
                return
            yield key

    @contextlib.contextmanager
    def processing(self) -> Generator[K]:
        """Wait for the next key, and call `done` at the end of the block.

        Raises:
            QueueClosedError: If the queue is closed, and nothing is left to hand out.
        """
        key = self.get()
        try:
            yield key
        finally:
            self.done(key)

    def close(self) -> None:
        """Accept no more keys, drop the delayed ones, and end a `drain` that waits.

        Keys that are enqueued are still handed out; then `get` raises `QueueClosedError`.
        """
        with self._lock:
            self._state.close()
            self._closings += 1
            self._wake_all()
            self._ended.notify_all()

    def drain(self, *, timeout: float | None = None) -> bool:
        """Close the queue, and wait until no key is left: neither enqueued nor being processed.

        A later `close` ends the wait.

        Args:
            timeout: How many seconds to wait; None for as long as it takes.

        Returns:
            Whether all keys are done.
        """
        with self._lock:
            state, closings = self._state, self._closings
            state.close()
            self._wake_all()
            self._ended.wait_for(lambda: state.is_idle or self._closings > closings, timeout)
            return state.is_idle

    def _wait(self, timeout: float | None) -> K:
        """Wait for a key. The lock is held, and released while it waits."""
        deadline = None if timeout is None else self._clock() + timeout
        try:
            while (key := self._take()) is None:
                if self._state.is_exhausted:
                    raise QueueClosedError(f"{self._described()} is closed and empty")
                now = self._clock()
                if deadline is not None and now >= deadline:
                    raise DeadlineError(f"{self._described()} had no key within {timeout:g} s")
                self._sleep(now, deadline)
        finally:
            # More keys may be ready, or delays may need another timekeeper; also if this thread was interrupted.
            if self._has_waiters and self._state.has_more:
                self._notify_ready()
        return key

    def _sleep(self, now: float, deadline: float | None) -> None:
        """Wait until something has changed, a delay has ended, or the deadline has come."""
        if self._has_timekeeper:
            condition, until = self._followers, deadline
        else:
            condition, due = self._timekeeper, self._state.next_time()
            until = due if deadline is None or (due is not None and due < deadline) else deadline
        is_timekeeper = condition is self._timekeeper
        self._has_timekeeper |= is_timekeeper
        self._waiting += 1
        self._has_waiters = True
        try:
            condition.wait(None if until is None else min(until - now, threading.TIMEOUT_MAX))
        finally:
            self._waiting -= 1
            self._has_waiters = self._waiting > 0
            self._has_timekeeper &= not is_timekeeper

    def _notify_ready(self) -> None:
        # The timekeeper last: another one would have to take its place.
        if self._waiting > self._has_timekeeper:
            self._followers.notify()
        else:
            self._timekeeper.notify()

    def _notify_delayed(self) -> None:
        if self._has_timekeeper:
            self._timekeeper.notify()
        else:
            self._followers.notify()  # it becomes the timekeeper

    def _notify_ended(self) -> None:
        if self._state.is_exhausted:
            self._wake_all()
        if self._state.is_idle:
            self._ended.notify_all()

    def _wake_all(self) -> None:
        self._followers.notify_all()
        self._timekeeper.notify_all()
