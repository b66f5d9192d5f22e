"""What the work queues of both façades share: everything that does not wait."""

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
    """The methods of a work queue that return at once. They may be called from any thread.

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
        """Whether no more keys are accepted."""
        return self._state.is_closed

    def __len__(self) -> int:
        """How many keys are ready. Delayed keys and those that are being processed do not count."""
        with self._lock:
            return len(self._state)

    def add(self, key: K, priority: int = 0) -> None:
        """Enqueue a key, unless it is enqueued already. It may be called from any thread.

        A key that is being processed is handed out again when that is done. A delay of the key is dropped: it is
        processed now. Once the queue is closed, nothing is enqueued.

        Args:
            key: Any hashable value but None.
            priority: The higher, the sooner. Of several the highest counts.

        Raises:
            ArgumentError: If the key is None.
        """
        with self._lock:
            if self._state.add(key, self._clock(), priority) and self._has_waiters:
                self._notify_ready()
            if self._metrics is not None:
                self._metrics.changed()

    def add_after(self, key: K, delay: float, priority: int | None = None) -> None:
        """Enqueue a key after so many seconds. It may be called from any thread.

        Of several delays of a key the one that ends first wins; a key that is enqueued already stays so. Once the queue
        is closed, nothing is enqueued.

        Args:
            key: Any hashable value but None.
            delay: In seconds. 0 or less enqueues it now.
            priority: The higher, the sooner; None for the priority that the key was taken with, while it is being
                processed, or else 0.

        Raises:
            ArgumentError: If the key is None, or the delay is not finite.
        """
        with self._lock:
            if not self._state.is_closed:
                self._add_after(key, delay, priority)

    def add_rate_limited(self, key: K, priority: int | None = None) -> None:
        """Enqueue a key once the rate limiter allows it. It may be called from any thread.

        Each call counts as a failure of the key, until `forget`.

        Args:
            key: Any hashable value but None.
            priority: As in `add_after`.

        Raises:
            ArgumentError: If the key is None.
        """
        with self._lock:
            if not self._state.is_closed:
                self._add_after(key, self._limiter.when(key, self._clock()), priority)

    def _add_after(self, key: K, delay: float, priority: int | None) -> None:
        state = self._state
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
        """Forget the failures of a key: it has succeeded, or is not retried any more. It stays enqueued if it is."""
        with self._lock:
            self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """How many failures of a key the rate limiter counts."""
        with self._lock:
            return self._limiter.num_requeues(key)

    def done(self, key: K) -> None:
        """End the processing of a key that `get` returned. If it was added meanwhile, it is handed out again.

        Raises:
            ArgumentError: If the key is not being processed.
        """
        with self._lock:
            state = self._state
            since = 0.0 if self._metrics is None else state.in_flight.get(key, 0.0)
            if state.done(key) and self._has_waiters:
                self._notify_ready()
            if state.is_closed:
                self._notify_ended()
            if self._metrics is not None:
                self._metrics.worked(self._clock() - since)
                self._metrics.changed()

    def discard(self, key: K) -> bool:
        """Drop a key that is enqueued or delayed, and forget its failures. If it is being processed, that goes on.

        Returns:
            Whether it was enqueued or delayed.
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
        """Drop all keys that are enqueued or delayed. What is being processed goes on, and is not handed out again.

        Returns:
            How many were dropped.
        """
        with self._lock:
            dropped = self._state.clear()
            if self._state.is_closed:
                self._notify_ended()
            if self._metrics is not None:
                self._metrics.changed()
            return dropped

    def close(self) -> None:
        """Accept no more keys, drop the delayed ones, and end a `drain` that waits. It may be called from any thread.

        Keys that are enqueued are still handed out; then `get` raises `QueueClosedError`.
        """
        with self._lock:
            self._state.close()
            self._notify_closed()

    def stats(self) -> WorkQueueStats[K]:
        """Describe the queue as it is now, for a debug page or a log. It may be called from any thread."""
        with self._lock:
            return describe_queue(self._name, self._state, self._clock())

    def delays(self) -> dict[K, float]:
        """The keys that are delayed, and for how many more seconds. It may be called from any thread."""
        with self._lock:
            return self._state.delays(self._clock())

    def _now(self) -> float:
        """The time of the clock that the queue has by now."""
        return self._clock()

    def _take(self) -> K | None:
        """Hand out the next key; None if no key is ready, or the worker must wait first. The lock is held."""
        if self._streak >= self._MAX_STREAK:
            return None
        self._streak += 1
        now = self._clock()
        key = self._state.take(now)
        if self._metrics is not None and key is not None:
            self._metrics.taken(now)
        return key

    def _described(self) -> str:
        """What messages call the queue."""
        return f"work queue {self._name!r}" if self._name else "the work queue"

    @abstractmethod
    def _notify_ready(self) -> None:
        """A key has become ready, and a worker waits: wake one. The lock is held."""

    @abstractmethod
    def _notify_delayed(self) -> None:
        """The next delay ends earlier than before, and a worker waits. The lock is held."""

    @abstractmethod
    def _notify_closed(self) -> None:
        """Wake all waiting workers, and end every `drain`. The lock is held."""

    @abstractmethod
    def _notify_ended(self) -> None:
        """The queue is closed, and may be empty now: wake those who wait for that. The lock is held."""
