"""Metrics of a work queue, under client-go's names."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead import metrics as known

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._sansio.workqueue import WorkQueueState
    from masthead.metrics import Gauge, Metric, Metrics

__all__ = ["QueueMetrics"]

K = TypeVar("K", bound=Hashable)

_log: Final = logging.getLogger("masthead.workqueue")


class QueueMetrics(Generic[K]):
    """The instruments of one queue. Its methods are called under the queue's lock, and never raise.

    Gauges are computed when they are read, if the provider supports that; otherwise after each call of the queue.

    Args:
        metrics: The provider.
        name: The name of the queue.
        state: The keys of the queue.
        clock: The queue's clock.
    """

    def __init__(self, metrics: Metrics, name: str, state: WorkQueueState[K], clock: Callable[[], float]) -> None:
        self._name, self._state, self._clock = name, state, clock
        self._adds = metrics.counter(known.WORKQUEUE_ADDS, name=name)
        self._retries = metrics.counter(known.WORKQUEUE_RETRIES, name=name)
        self._queue_duration = metrics.histogram(known.WORKQUEUE_QUEUE_DURATION, name=name)
        self._work_duration = metrics.histogram(known.WORKQUEUE_WORK_DURATION, name=name)
        # The state counts adds itself, without duplicates; the metric gets the difference.
        self._counted_adds = 0
        self._gauges: list[tuple[Gauge, Callable[[], float]]] = []
        self._is_broken = False
        self._offer(metrics, known.WORKQUEUE_DEPTH, self.depth)
        self._offer(metrics, known.WORKQUEUE_UNFINISHED_WORK, self.unfinished)
        self._offer(metrics, known.WORKQUEUE_LONGEST_RUNNING, self.longest_running)

    def changed(self) -> None:
        """Update after keys were added, dropped or done."""
        self._count(self._update)

    def retried(self) -> None:
        """Count a key added with a delay or a rate limit."""
        self._count(self._retries.inc)

    def taken(self, now: float) -> None:
        """Observe the time that a key has waited."""
        waited = max(0.0, now - self._state.ready_since)
        self._count(lambda: self._queue_duration.observe(waited))
        self._count(self._update)

    def worked(self, seconds: float) -> None:
        """Observe the processing time of a key."""
        self._count(lambda: self._work_duration.observe(max(0.0, seconds)))

    def depth(self) -> float:
        """The number of waiting keys."""
        return self._state.waiting

    def unfinished(self) -> float:
        """The total processing time so far of all keys in processing."""
        return sum(self._running())

    def longest_running(self) -> float:
        """The longest processing time so far of a key in processing."""
        return max(self._running(), default=0.0)

    def _running(self) -> list[float]:
        # Scrapes read without the lock. Copying a dict is atomic, iterating over it is not.
        now, in_flight = self._clock(), self._state.in_flight.copy()
        return [max(0.0, now - since) for since in in_flight.values()]

    def _offer(self, metrics: Metrics, metric: Metric, value: Callable[[], float]) -> None:
        gauge = metrics.gauge(metric, name=self._name)
        if (set_function := getattr(gauge, "set_function", None)) is None:
            self._gauges.append((gauge, value))
            return
        own = weakref.WeakMethod(value)  # the registry outlives the queue
        set_function(lambda: 0.0 if (read := own()) is None else read())

    def _update(self) -> None:
        added = self._state.adds - self._counted_adds
        if added:
            self._counted_adds += added
            self._adds.inc(added)
        for gauge, value in self._gauges:
            gauge.set(value())

    def _count(self, count: Callable[[], object]) -> None:
        """Count; a failure of the metrics must not cost a queue its keys."""
        try:
            count()
        except Exception:  # noqa: BLE001 - a fault of the metrics must not end a worker
            if not self._is_broken:
                _log.exception("metrics of work queue %s failed; further failures are not logged", self._name)
            self._is_broken = True
