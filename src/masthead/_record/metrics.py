"""Metrics of a recorder."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead import metrics as known
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.metrics import Metrics

__all__ = ["RecorderMetrics"]

_log: Final = logging.getLogger("masthead.record")


class RecorderMetrics:
    """The instruments of one recorder. Failing metrics cost no Event.

    Args:
        metrics: The provider; None for none.
        component: The recorder's component.
    """

    def __init__(self, metrics: Metrics | None, component: str) -> None:
        self._metrics = metrics or NO_METRICS
        self._component = component
        self._dropped = self._metrics.counter(known.EVENTS_DROPPED, component=component)
        self._filtered = self._metrics.counter(known.EVENTS_FILTERED, component=component)
        self._pending = self._metrics.gauge(known.EVENTS_PENDING, component=component)
        self._is_broken = False

    def sent(self, verb: str) -> None:
        """Count a successful write."""
        self._count(lambda: self._metrics.counter(known.EVENTS_SENT, component=self._component, verb=verb).inc())

    def failed(self, reason: str, amount: int = 1) -> None:
        """Count abandoned writes."""
        self._count(
            lambda: self._metrics.counter(known.EVENTS_FAILED, component=self._component, reason=reason).inc(amount)
        )

    def dropped(self) -> None:
        """Count a dropped occurrence."""
        self._count(self._dropped.inc)

    def filtered(self) -> None:
        """Count a filtered occurrence."""
        self._count(self._filtered.inc)

    def pending(self, count: int) -> None:
        """Set the number of waiting Events."""
        self._count(lambda: self._pending.set(count))

    def _count(self, count: Callable[[], object]) -> None:
        if self._metrics is NO_METRICS:
            return
        try:
            count()
        except Exception:  # noqa: BLE001 - a fault of the metrics must not cost the Event
            if not self._is_broken:
                _log.exception("metrics of recorder %s failed; further failures are not logged", self._component)
            self._is_broken = True
