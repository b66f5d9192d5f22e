"""What a work queue counts, under client-go's names."""

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
    """What one queue counts. Its methods are called under the queue's lock, and never raise.

    Gauges are computed when they are read, if the provider can do that; otherwise after each call of the queue.

    Args:
        metrics: Where to count.
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
        self._counted_adds = 0
        self._gauges: list[tuple[Gauge, Callable[[], float]]] = []
        self._is_broken = False
        self._offer(metrics, known.WORKQUEUE_DEPTH, self.depth)
        self._offer(metrics, known.WORKQUEUE_UNFINISHED_WORK, self.unfinished)
        self._offer(metrics, known.WORKQUEUE_LONGEST_RUNNING, self.longest_running)

    def changed(self) -> None:
        """Keys were added, dropped or done."""
        self._count(self._update)

    def retried(self) -> None:
        """A key is added with a delay or a rate limit."""
        self._count(self._retries.inc)

    def taken(self, now: float) -> None:
        """A key is handed out."""
        waited = max(0.0, now - self._state.ready_since)
        self._count(lambda: self._queue_duration.observe(waited))
        self._count(self._update)

    def worked(self, seconds: float) -> None:
        """A key is done."""
        self._count(lambda: self._work_duration.observe(max(0.0, seconds)))

    def depth(self) -> float:
        """How many keys wait to be handed out."""
        return self._state.waiting

    def unfinished(self) -> float:
        """For how long all keys in processing have been processed."""
        return sum(self._running())

    def longest_running(self) -> float:
        """For how long the key that has been processed longest has been processed."""
        return max(self._running(), default=0.0)

    def _running(self) -> list[float]:
        # Read without the lock, by whoever reads the metrics: a copy is made in one step.
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
        """Metrics that fail must not cost a queue its keys."""
        try:
            count()
        except Exception:  # noqa: BLE001 - whatever it is, it is not about the queue
            if not self._is_broken:
                _log.exception("metrics of work queue %s failed; further failures are not logged", self._name)
            self._is_broken = True
