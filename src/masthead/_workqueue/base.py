"""Methods of both work queues that do not wait."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from masthead._module import set_module
from masthead._sansio.rate_limiters import QueueRateLimiter, default_rate_limiter
from masthead._sansio.workqueue import OLDEST_EVERY, WorkQueueState
from masthead._workqueue.metrics import QueueMetrics
from masthead._workqueue.stats import WorkQueueStats, describe_queue
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.metrics import Metrics

__all__ = ["WorkQueueBase"]

K = TypeVar("K", bound=Hashable)


@set_module("masthead.workqueue")
class WorkQueueBase(ABC, Generic[K]):
    """The methods of a work queue that return immediately. Any thread may call them.

    One lock guards state and rate limiter. It is held for microseconds, also by a loop's thread.
    """

    _MAX_STREAK: ClassVar[float] = math.inf
    """Number of keys handed out in a row before a worker must wait, so that others get a turn."""

    def __init__(
        self,
        name: str = "",
        *,
        rate_limiter: QueueRateLimiter[K] | None = None,
        metrics: Metrics | None = None,
        oldest_every: int = OLDEST_EVERY,
    ) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._state: WorkQueueState[K] = WorkQueueState(oldest_every)
        self._limiter: QueueRateLimiter[K] = default_rate_limiter() if rate_limiter is None else rate_limiter
        self._clock: Callable[[], float] = time.monotonic
        self._has_waiters = False
        self._streak = 0
        self._metrics: QueueMetrics[K] | None = None
        # Metrics need the name as their label.
        if name and metrics is not None and metrics is not NO_METRICS:
            self._metrics = QueueMetrics(metrics, name, self._state, self._now)

    def __repr__(self) -> str:
        state = self._state
        counts = f"{len(state)} ready, {state.delayed} delayed, {len(state.in_flight)} being processed"
        return f"<{type(self).__name__} {self._name!r}: {counts}{', closed' * state.is_closed}>"

    @property
    def name(self) -> str:
        """The name, as in metrics."""
        return self._name

    @property
    def is_closed(self) -> bool:
        """Whether the queue is closed, and accepts no further keys."""
        return self._state.is_closed

    def __len__(self) -> int:
        """The number of ready keys, without delayed keys and keys in processing."""
        with self._lock:
            return len(self._state)

    def add(self, key: K, priority: int = 0) -> None:
        """Enqueue a key, unless it is enqueued already.

        A key in processing is handed out again after `done`. A delayed key becomes ready now. A closed queue ignores
        the call.

        Args:
            key: Any hashable value except None.
            priority: Higher priorities come first. Repeated adds keep the highest.

        Raises:
            ArgumentError: If the key is None.
        """
        with self._lock:
            if self._state.add(key, self._clock(), priority) and self._has_waiters:
                self._notify_ready()
            if self._metrics is not None:
                self._metrics.changed()

    def add_after(self, key: K, delay: float, priority: int | None = None) -> None:
        """Enqueue a key after a delay.

        Of several delays, the first to end counts; an enqueued key stays enqueued. A closed queue ignores the call.

        Args:
            key: Any hashable value except None.
            delay: The delay in seconds; 0 or less enqueues the key now.
            priority: Higher priorities come first; None for the priority of the key in processing, or else 0.

        Raises:
            ArgumentError: If the key is None, or the delay is not finite.
        """
        with self._lock:
            if not self._state.is_closed:
                self._add_after(key, delay, priority)

    def add_rate_limited(self, key: K, priority: int | None = None) -> None:
        """Enqueue a key after the delay of the rate limiter.

        Each call counts as a failure of the key, until `forget`.

        Args:
            key: Any hashable value except None.
            priority: As in `add_after`.

        Raises:
            ArgumentError: If the key is None.
        """
        with self._lock:
            # Checked first: a limiter counts a failure with every call of `when`.
            if not self._state.is_closed:
                self._add_after(key, self._limiter.when(key, self._clock()), priority)

    def _add_after(self, key: K, delay: float, priority: int | None) -> None:
        state = self._state
        # A retry keeps the priority with which its key was taken.
        if priority is None:
            priority = state.priority_of(key)
        if state.add_after(key, delay, self._clock(), priority) and self._has_waiters:
            if delay > 0:
                self._notify_delayed()
            else:
                self._notify_ready()
        if self._metrics is not None:
            self._metrics.retried()
            self._metrics.changed()

    def forget(self, key: K) -> None:
        """Reset the failures of a key, after a success or the last retry. An enqueued key stays enqueued."""
        with self._lock:
            self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """The number of failures of a key, by the rate limiter."""
        with self._lock:
            return self._limiter.num_requeues(key)

    def done(self, key: K) -> None:
        """End the processing of a key. If it was added during its processing, it is handed out again.

        Raises:
            ArgumentError: If the key is not in processing.
        """
        with self._lock:
            state = self._state
            # Read before `done` removes it.
            since = 0.0 if self._metrics is None else state.in_flight.get(key, 0.0)
            if state.done(key) and self._has_waiters:
                self._notify_ready()
            if state.is_closed:
                self._notify_ended()
            if self._metrics is not None:
                self._metrics.worked(self._clock() - since)
                self._metrics.changed()

    def discard(self, key: K) -> bool:
        """Drop an enqueued or delayed key, and reset its failures. Its processing is not affected.

        Returns:
            Whether the key was enqueued or delayed.
        """
        with self._lock:
            state = self._state
            was_waiting = state.discard(key)
            self._limiter.forget(key)
            if state.is_closed:
                self._notify_ended()
            if self._metrics is not None:
                self._metrics.changed()
            return was_waiting

    def clear(self) -> int:
        """Drop all enqueued and delayed keys. Keys in processing are not handed out again.

        Returns:
            The number of dropped keys.
        """
        with self._lock:
            dropped = self._state.clear()
            if self._state.is_closed:
                self._notify_ended()
            if self._metrics is not None:
                self._metrics.changed()
            return dropped

    def close(self) -> None:
        """Accept no further keys, drop delayed keys, and end a waiting `drain`.

        Enqueued keys are still handed out; then `get` raises `QueueClosedError`.
        """
        with self._lock:
            self._state.close()
            self._notify_closed()

    def choose_by(self, choose: Callable[[int], int] | None) -> None:
        """Choose another ready key than the first, as tests of other orders do. No key waits for ever all the same.

        Args:
            choose: Chooses one of a number of keys with equal priority, by its place from 0; None for the first.
        """
        with self._lock:
            self._state.choose = choose

    def stats(self) -> WorkQueueStats[K]:
        """Describe the current state, for a debug page or a log."""
        with self._lock:
            return describe_queue(self._name, self._state, self._clock())

    def delays(self) -> dict[K, float]:
        """The delayed keys, with the remaining seconds."""
        with self._lock:
            return self._state.delays(self._clock())

    def _now(self) -> float:
        """Read the clock, which `_bind` of a `LoopQueue` replaces."""
        return self._clock()

    def _take(self) -> K | None:
        """Take the next key, under the lock; None if no key is ready, or the worker must wait first."""
        # The worker waits once, so that other tasks of the loop run.
        if self._streak >= self._MAX_STREAK:
            return None
        self._streak += 1
        now = self._clock()
        key = self._state.take(now)
        if self._metrics is not None and key is not None:
            self._metrics.taken(now)
        return key

    def _describe(self) -> str:
        """The name of the queue in messages."""
        return f"work queue {self._name!r}" if self._name else "the work queue"

    @abstractmethod
    def _notify_ready(self) -> None:
        """Wake a waiting worker for a key that has become ready. The lock is held."""

    @abstractmethod
    def _notify_delayed(self) -> None:
        """Adjust the timer of waiting workers to an earlier delay. The lock is held."""

    @abstractmethod
    def _notify_closed(self) -> None:
        """Wake all waiting workers, and end every `drain`. The lock is held."""

    @abstractmethod
    def _notify_ended(self) -> None:
        """Wake workers and drains if the closed queue is empty. The lock is held."""
