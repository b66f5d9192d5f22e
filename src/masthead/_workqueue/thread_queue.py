"""A work queue for threads: waiting and waking."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import TYPE_CHECKING, TypeVar

from masthead._sansio.workqueue import OLDEST_EVERY
from masthead._workqueue.base import WorkQueueBase
from masthead.errors import DeadlineError, QueueClosedError

if TYPE_CHECKING:
    from masthead._sansio.rate_limiters import QueueRateLimiter
    from masthead.metrics import Metrics

__all__ = ["ThreadQueue"]

K = TypeVar("K", bound=Hashable)


class ThreadQueue(WorkQueueBase[K]):
    """Waits on condition variables. Any thread may add keys, but no signal handler."""

    def __init__(
        self,
        name: str = "",
        *,
        rate_limiter: QueueRateLimiter[K] | None = None,
        metrics: Metrics | None = None,
        oldest_every: int = OLDEST_EVERY,
    ) -> None:
        super().__init__(name, rate_limiter=rate_limiter, metrics=metrics, oldest_every=oldest_every)
        # One waiting thread, the timekeeper, also waits for the next delay; the others, the followers, only for a key.
        self._followers = threading.Condition(self._lock)
        self._timekeeper = threading.Condition(self._lock)
        self._waiting = 0
        self._has_timekeeper = False
        self._ended = threading.Condition(self._lock)
        self._closings = 0

    def _drain(self, timeout: float | None) -> bool:
        """Close the queue, and wait for its last key; return whether none is left."""
        with self._lock:
            # A counter, because `close` must end only drains that wait already.
            state, closings = self._state, self._closings
            state.close()
            self._wake_all()
            self._ended.wait_for(lambda: state.is_idle or self._closings > closings, timeout)
            return state.is_idle

    def _wait(self, timeout: float | None) -> K:
        """Wait for a key.

        Raises:
            QueueClosedError: If the queue is closed and empty.
            DeadlineError: If no key is ready within the timeout.
        """
        with self._lock:
            return self._wait_for_key(timeout)

    def _wait_for_key(self, timeout: float | None) -> K:
        """Wait for a key, under the lock, which is released during the wait."""
        deadline = None if timeout is None else self._clock() + timeout
        try:
            while (key := self._take()) is None:
                if self._state.is_exhausted:
                    raise QueueClosedError(f"{self._describe()} is closed and empty")
                now = self._clock()
                if deadline is not None and now >= deadline:
                    raise DeadlineError(f"{self._describe()} had no key within {timeout:g} s")
                self._sleep(now, deadline)
        finally:
            # More keys may be ready, or a delay may need a new timekeeper; also after an interrupt of this thread.
            if self._has_waiters and self._state.has_more:
                self._notify_ready()
        return key

    def _sleep(self, now: float, deadline: float | None) -> None:
        """Wait for a change, the end of a delay, or the deadline."""
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
            # Python raises OverflowError beyond its maximum.
            condition.wait(None if until is None else min(until - now, threading.TIMEOUT_MAX))
        finally:
            self._waiting -= 1
            self._has_waiters = self._waiting > 0
            self._has_timekeeper &= not is_timekeeper

    def _notify_ready(self) -> None:
        # The timekeeper last, because another thread would have to replace it.
        if self._waiting > self._has_timekeeper:
            self._followers.notify()
        else:
            self._timekeeper.notify()

    def _notify_delayed(self) -> None:
        if self._has_timekeeper:
            self._timekeeper.notify()
        else:
            self._followers.notify()  # it becomes the timekeeper

    def _notify_closed(self) -> None:
        self._closings += 1
        self._wake_all()
        self._ended.notify_all()

    def _notify_ended(self) -> None:
        # Workers end when no key is left to hand out; a drain, when the last worker is done.
        if self._state.is_exhausted:
            self._wake_all()
        if self._state.is_idle:
            self._ended.notify_all()

    def _wake_all(self) -> None:
        self._followers.notify_all()
        self._timekeeper.notify_all()
