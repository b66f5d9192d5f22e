"""The metrics of informers, with client-go's names."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead import metrics as known
from masthead._module import set_module
from masthead.metrics import NO_METRICS, version_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.metrics import Metrics

__all__ = ["DISABLED", "HandlerMetrics", "InformerMetrics"]

_log: Final = logging.getLogger("masthead.cache")

_SHORT: Final = 1.0
"""Seconds below which a watch without events counts as short."""


@set_module("masthead.aio.cache")
class InformerMetrics:
    """The metrics of one informer.

    Args:
        metrics: Receives them; None for none.
        name: The informer's name.
        resource: The resource's name.
    """

    def __init__(self, metrics: Metrics | None, *, name: str, resource: str) -> None:
        self._metrics = to = NO_METRICS if metrics is None else metrics
        self._labels = labels = {"name": name, "resource": resource}
        self._lists = to.counter(known.REFLECTOR_LISTS, **labels)
        self._list_duration = to.histogram(known.REFLECTOR_LIST_DURATION, **labels)
        self._items_per_list = to.histogram(known.REFLECTOR_ITEMS_PER_LIST, **labels)
        self._watches = to.counter(known.REFLECTOR_WATCHES, **labels)
        self._short_watches = to.counter(known.REFLECTOR_SHORT_WATCHES, **labels)
        self._watch_duration = to.histogram(known.REFLECTOR_WATCH_DURATION, **labels)
        self._items_per_watch = to.histogram(known.REFLECTOR_ITEMS_PER_WATCH, **labels)
        self._last_version = to.gauge(known.REFLECTOR_LAST_RESOURCE_VERSION, **labels)
        self._queued = to.gauge(known.INFORMER_QUEUED_ITEMS, **labels)
        self._latency = to.histogram(known.INFORMER_PROCESSING_LATENCY, **labels)
        self._store_version = to.gauge(known.INFORMER_STORE_RESOURCE_VERSION, **labels)
        self._broken = to.gauge(known.INFORMER_BROKEN_OBJECTS, **labels)
        self._relists = to.counter(known.INFORMER_RELISTS, **labels)
        self.is_on: bool = to is not NO_METRICS

    def handler(self, name: str) -> HandlerMetrics | None:
        """The metrics of one handler; None without metrics."""
        return None if not self.is_on else HandlerMetrics(self._metrics, {**self._labels, "handler": name})

    def listed(self, seconds: float, items: int) -> None:
        """Count a list or watch-list."""
        self._lists.inc()
        self._list_duration.observe(seconds)
        self._items_per_list.observe(items)

    def relisted(self) -> None:
        """Count a list after the first."""
        self._relists.inc()

    def watched(self, seconds: float, events: int) -> None:
        """Count a watch that has ended or could not be opened, watch-lists included."""
        self._watches.inc()
        self._watch_duration.observe(seconds)
        self._items_per_watch.observe(events)
        if seconds < _SHORT and not events:
            self._short_watches.inc()

    def reached(self, version: str, broken: int) -> None:
        """Record the reached version, and the number of undecodable objects."""
        self._last_version.set(version_number(version))
        self._broken.set(broken)

    def queued(self, count: int) -> None:
        """Record the number of queued changes."""
        self._queued.set(count)

    def processed(self, seconds: float, version: str) -> None:
        """Record the duration of processing, and the version of the store."""
        self._latency.observe(seconds)
        self._store_version.set(version_number(version))


@set_module("masthead.aio.cache")
class HandlerMetrics:
    """The metrics of one handler."""

    def __init__(self, metrics: Metrics, labels: dict[str, str]) -> None:
        self._pending = metrics.gauge(known.INFORMER_HANDLER_PENDING, **labels)
        self._failures = metrics.counter(known.INFORMER_HANDLER_FAILURES, **labels)
        self._name = labels["handler"]
        self._is_broken = False

    def pending(self, count: int) -> None:
        """Record the number of pending notifications."""
        self._count(self._pending.set, count)

    def failed(self) -> None:
        """Count an exception."""
        self._count(self._failures.inc, 1)

    def _count(self, count: Callable[[float], None], value: float) -> None:
        """Record a value. Metrics that fail must not cost a handler its notifications."""
        try:
            count(value)
        except Exception:  # noqa: BLE001 - a defect of the metrics is not the handler's
            if not self._is_broken:
                _log.exception("metrics of handler %s failed; further failures are not logged", self._name)
            self._is_broken = True


DISABLED: Final = InformerMetrics(None, name="", resource="")
