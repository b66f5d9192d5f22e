"""The metrics of a controller, under controller-runtime's names, and its slowest reconciles."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from masthead import metrics as names

if TYPE_CHECKING:
    from masthead._controller.flight import Flight
    from masthead._controller.invocation import ReconcileOutcome
    from masthead._controller.requests import Request
    from masthead.metrics import Metrics

__all__ = ["LoopMetrics"]

_MAX_SLOW: Final = 10
_MAX_RECENT: Final = 1_000
"""Number of recent reconciles, for the detection of hot loops."""


class LoopMetrics:
    """The metrics of one controller.

    Attributes:
        counts: Reconciles by result.
        recent: The recently reconciled objects, with their times.
        mapping_errors: Counts the errors of mappers.
    """

    def __init__(self, metrics: Metrics, controller: str, workers: int) -> None:
        self.counts: Counter[str] = Counter()
        self.recent: Final[deque[tuple[float, Request]]] = deque(maxlen=_MAX_RECENT)
        self.mapping_errors: Final = metrics.counter(names.MAPPING_ERRORS, controller=controller)
        self._totals = {
            result: metrics.counter(names.RECONCILE_TOTAL, controller=controller, result=result)
            for result in names.RECONCILE_RESULTS
        }
        self._errors = metrics.counter(names.RECONCILE_ERRORS, controller=controller)
        self._terminal_errors = metrics.counter(names.TERMINAL_RECONCILE_ERRORS, controller=controller)
        self._panics = metrics.counter(names.RECONCILE_PANICS, controller=controller)
        self._timeouts = metrics.counter(names.RECONCILE_TIMEOUTS, controller=controller)
        self._times = metrics.histogram(names.RECONCILE_TIME, controller=controller)
        self._active = metrics.gauge(names.ACTIVE_WORKERS, controller=controller)
        metrics.gauge(names.MAX_CONCURRENT_RECONCILES, controller=controller).set(workers)
        self._running = 0
        self._slowest: list[tuple[float, str, str]] = []

    def begin(self) -> None:
        """Count the start of a reconcile."""
        # Counted here, because a gauge of the metrics interface cannot be read.
        self._running += 1
        self._active.set(self._running)

    def end(self, flight: Flight, outcome: ReconcileOutcome, duration: float) -> None:
        """Count the end of a reconcile."""
        result = outcome.label
        self._running -= 1
        self._active.set(self._running)
        self.counts[result] += 1
        # For the hot-loop detection of test environments, which needs no metrics.
        self.recent.append((flight.started, flight.request))
        self._totals[result].inc()
        self._times.observe(duration)
        if result == "error":
            self._errors.inc()
            if outcome.is_terminal:
                self._terminal_errors.inc()
            if outcome.is_panic:
                self._panics.inc()
            if outcome.is_timeout:
                self._timeouts.inc()
        slow = (duration, flight.request.key, flight.id)
        # A heap with the fastest of the slow reconciles first, which the next slower one replaces.
        if len(self._slowest) < _MAX_SLOW:
            heapq.heappush(self._slowest, slow)
        elif duration > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, slow)

    @property
    def slowest(self) -> list[tuple[float, str, str]]:
        """The slowest reconciles, as seconds, object and id."""
        return self._slowest
