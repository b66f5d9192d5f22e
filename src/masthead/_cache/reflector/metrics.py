"""What informers count, under client-go's names."""

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
"""A watch that lasted less than this, without an event, is a bad sign."""


@set_module("masthead.aio.cache")
class InformerMetrics:
    """What one informer counts.

    Args:
        metrics: Where; None for nowhere.
        name: What it is called.
        resource: What it holds.
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
        """The metrics of one handler; None if nothing is counted."""
        return None if not self.is_on else HandlerMetrics(self._metrics, {**self._labels, "handler": name})

    def listed(self, seconds: float, items: int) -> None:
        """A full state has come, as a list or as the beginning of a watch."""
        self._lists.inc()
        self._list_duration.observe(seconds)
        self._items_per_list.observe(items)

    def relisted(self) -> None:
        """The full state is asked for once more."""
        self._relists.inc()

    def watched(self, seconds: float, events: int) -> None:
        """A watch has ended, or could not be opened; also one with initial events."""
        self._watches.inc()
        self._watch_duration.observe(seconds)
        self._items_per_watch.observe(events)
        if seconds < _SHORT and not events:
            self._short_watches.inc()

    def reached(self, version: str, broken: int) -> None:
        """Everything up to a version has come; so many objects of it cannot be used."""
        self._last_version.set(version_number(version))
        self._broken.set(broken)

    def queued(self, count: int) -> None:
        """So many changes wait."""
        self._queued.set(count)

    def processed(self, seconds: float, version: str) -> None:
        """Changes have been put into the store and handed out."""
        self._latency.observe(seconds)
        self._store_version.set(version_number(version))


@set_module("masthead.aio.cache")
class HandlerMetrics:
    """What is counted about one handler."""

    def __init__(self, metrics: Metrics, labels: dict[str, str]) -> None:
        self._pending = metrics.gauge(known.INFORMER_HANDLER_PENDING, **labels)
        self._failures = metrics.counter(known.INFORMER_HANDLER_FAILURES, **labels)
        self._name = labels["handler"]
        self._is_broken = False

    def pending(self, count: int) -> None:
        """So many notifications wait for it."""
        self._count(self._pending.set, count)

    def failed(self) -> None:
        """It raised."""
        self._count(self._failures.inc, 1)

    def _count(self, count: Callable[[float], None], value: float) -> None:
        """Metrics that fail must not cost a handler its notifications."""
        try:
            count(value)
        except Exception:  # noqa: BLE001 - whatever it is, it is not about the handler
            if not self._is_broken:
                _log.exception("metrics of handler %s failed; further failures are not logged", self._name)
            self._is_broken = True


DISABLED: Final = InformerMetrics(None, name="", resource="")
