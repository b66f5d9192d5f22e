"""What informers and queues count, and where the figures go.

A provider gives an instrument for a metric and its labels, once; then counting takes next to no time and may be done
from any thread::

    lists = metrics.counter(REFLECTOR_LISTS, name="pods", resource="v1/pods")
    lists.inc()

By default nothing is counted. `PrometheusMetrics` needs the extra ``masthead[metrics]``. To send the figures elsewhere,
write a class with the three methods of `Metrics`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, cast

from masthead.errors import ConfigError, InvalidValueError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics import MetricWrapperBase

__all__ = [
    "ALL",
    "Counter",
    "Gauge",
    "Histogram",
    "Metric",
    "Metrics",
    "NO_METRICS",
    "NoMetrics",
    "PrometheusMetrics",
    "version_number",
]

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
"""What a metric is: it only grows, it goes up and down, or it is many values of which the spread matters."""


@dataclass(frozen=True, slots=True)
class Metric:
    """What is to be known of a metric before it is counted.

    Attributes:
        name: Its name, in full.
        kind: What it is.
        help: What it tells.
        labels: The names of its labels.
        buckets: The upper bounds of a histogram's buckets.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()


_INFORMER: Final = ("name", "resource")
_HANDLER: Final = (*_INFORMER, "handler")
_LATENCIES: Final = (0.000_1, 0.001, 0.01, 0.1, 1.0, 10.0)
_DURATIONS: Final = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0)
_WATCHES: Final = (1.0, 10.0, 60.0, 120.0, 300.0, 450.0, 600.0)
_ITEMS: Final = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)

# differs from client-go: what are summaries there are histograms here, which can be added up over processes.
REFLECTOR_LISTS: Final = Metric(
    "reflector_lists_total", "counter", "How often everything was asked for.", _INFORMER
)
REFLECTOR_LIST_DURATION: Final = Metric(
    "reflector_list_duration_seconds",
    "histogram",
    "How long that took, pages and all.",
    _INFORMER,
    _DURATIONS,
)
REFLECTOR_ITEMS_PER_LIST: Final = Metric(
    "reflector_items_per_list", "histogram", "How many objects there were.", _INFORMER, _ITEMS
)
# differs from client-go: counted when they end, like their durations and events, and with those that failed to open.
REFLECTOR_WATCHES: Final = Metric(
    "reflector_watches_total",
    "counter",
    "How many watches have ended, those that began with what there is among them.",
    _INFORMER,
)
REFLECTOR_SHORT_WATCHES: Final = Metric(
    "reflector_short_watches_total", "counter", "How many watches ended at once and told nothing.", _INFORMER
)
REFLECTOR_WATCH_DURATION: Final = Metric(
    "reflector_watch_duration_seconds", "histogram", "How long watches lasted.", _INFORMER, _WATCHES
)
REFLECTOR_ITEMS_PER_WATCH: Final = Metric(
    "reflector_items_per_watch", "histogram", "How many events they told.", _INFORMER, _ITEMS
)
REFLECTOR_LAST_RESOURCE_VERSION: Final = Metric(
    "reflector_last_resource_version", "gauge", "The last version that came from the server.", _INFORMER
)
INFORMER_QUEUED_ITEMS: Final = Metric(
    "informer_queued_items", "gauge", "How many changes wait to be put into the store.", _INFORMER
)
INFORMER_PROCESSING_LATENCY: Final = Metric(
    "informer_processing_latency_seconds",
    "histogram",
    "How long it takes to put changes into the store and announce them.",
    _INFORMER,
    _LATENCIES,
)
INFORMER_STORE_RESOURCE_VERSION: Final = Metric(
    "informer_store_resource_version", "gauge", "The version up to which the store is complete.", _INFORMER
)
INFORMER_HANDLER_PENDING: Final = Metric(
    "informer_handler_pending", "gauge", "How many notices a handler has yet to hear.", _HANDLER
)
INFORMER_HANDLER_FAILURES: Final = Metric(
    "informer_handler_failures_total", "counter", "How often a handler raised.", _HANDLER
)
INFORMER_BROKEN_OBJECTS: Final = Metric(
    "informer_broken_objects", "gauge", "How many objects on the server cannot be read.", _INFORMER
)
INFORMER_RELISTS: Final = Metric(
    "informer_relists_total", "counter", "How often everything had to be asked for again.", _INFORMER
)

ALL: Final = (
    REFLECTOR_LISTS,
    REFLECTOR_LIST_DURATION,
    REFLECTOR_ITEMS_PER_LIST,
    REFLECTOR_WATCHES,
    REFLECTOR_SHORT_WATCHES,
    REFLECTOR_WATCH_DURATION,
    REFLECTOR_ITEMS_PER_WATCH,
    REFLECTOR_LAST_RESOURCE_VERSION,
    INFORMER_QUEUED_ITEMS,
    INFORMER_PROCESSING_LATENCY,
    INFORMER_STORE_RESOURCE_VERSION,
    INFORMER_HANDLER_PENDING,
    INFORMER_HANDLER_FAILURES,
    INFORMER_BROKEN_OBJECTS,
    INFORMER_RELISTS,
)
"""What informers count."""


class Counter(Protocol):
    """Something that only grows."""

    def inc(self, amount: float = 1) -> None:
        """Count so many more."""
        ...


class Gauge(Protocol):
    """Something that goes up and down."""

    def set(self, value: float) -> None:
        """Say what it is now."""
        ...


class Histogram(Protocol):
    """Many values of which the spread matters."""

    def observe(self, amount: float) -> None:
        """Add a value."""
        ...


class Metrics(Protocol):
    """Gives instruments; the same for the same metric and labels.

    Whoever counts asks once and keeps what is given. Everything may be called from any thread.
    """

    def counter(self, metric: Metric, **labels: str) -> Counter:
        """The counter of a metric with these labels."""
        ...

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        """The gauge of a metric with these labels."""
        ...

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        """The histogram of a metric with these labels."""
        ...


class _NoopInstrument:
    """An instrument that forgets everything."""

    __slots__ = ()

    def inc(self, amount: float = 1) -> None: ...

    def set(self, value: float) -> None: ...

    def observe(self, amount: float) -> None: ...


class NoMetrics:
    """Counts nothing."""

    __slots__ = ()

    def counter(self, metric: Metric, **labels: str) -> Counter:
        """A counter that forgets everything."""
        del metric, labels
        return _NOTHING

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        """A gauge that forgets everything."""
        del metric, labels
        return _NOTHING

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        """A histogram that forgets everything."""
        del metric, labels
        return _NOTHING


_NOTHING: Final = _NoopInstrument()
NO_METRICS: Final[Metrics] = NoMetrics()
"""The default: nothing is counted."""


class PrometheusMetrics:
    """Counts in a registry of prometheus_client. One is enough for all informers, and a registry takes one only.

    Args:
        registry: Where; the process' own if there is none.

    Raises:
        ConfigError: if prometheus-client is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise ConfigError("metrics need prometheus-client: pip install 'masthead[metrics]'") from None
        self._registry = prometheus_client.REGISTRY if registry is None else registry
        self._lock = threading.Lock()
        self._families: dict[Metric, MetricWrapperBase] = {}

    def counter(self, metric: Metric, **labels: str) -> Counter:
        """The counter of a metric with these labels.

        Raises:
            InvalidValueError: if the metric is none, or has other labels.
            ConfigError: if the registry refuses it, mostly because it has something of that name.
        """
        return cast("Counter", self._instrument("counter", metric, labels))

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        """The gauge of a metric with these labels.

        Raises:
            InvalidValueError: if the metric is none, or has other labels.
            ConfigError: if the registry refuses it, mostly because it has something of that name.
        """
        return cast("Gauge", self._instrument("gauge", metric, labels))

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        """The histogram of a metric with these labels.

        Raises:
            InvalidValueError: if the metric is none, or has other labels.
            ConfigError: if the registry refuses it, mostly because it has something of that name.
        """
        return cast("Histogram", self._instrument("histogram", metric, labels))

    def _instrument(self, kind: Kind, metric: Metric, labels: dict[str, str]) -> object:
        if metric.kind != kind:
            raise InvalidValueError(f"{metric.name} is a {metric.kind}, not a {kind}", value=metric)
        if set(labels) != set(metric.labels):
            raise InvalidValueError(
                f"{metric.name} has the labels {', '.join(metric.labels)}, not {', '.join(labels)}",
                value=labels,
            )
        with self._lock:
            family = self._families.get(metric)
            if family is None:
                family = self._families[metric] = self._register(metric)
        return family.labels(**labels) if labels else family

    def _register(self, metric: Metric) -> MetricWrapperBase:
        import prometheus_client as prometheus

        name, text, labels = metric.name, metric.help, metric.labels
        try:
            if metric.kind == "counter":
                return prometheus.Counter(name, text, labels, registry=self._registry)
            if metric.kind == "gauge":
                return prometheus.Gauge(name, text, labels, registry=self._registry)
            return prometheus.Histogram(name, text, labels, registry=self._registry, buckets=metric.buckets)
        except ValueError as error:
            raise ConfigError(
                f"{name} cannot be registered ({error}); if it is there already, share one PrometheusMetrics, or give "
                "each a registry of its own"
            ) from None


def version_number(version: str) -> float:
    """A resource version as a gauge can show it: its last 15 digits, which a float still holds; 0 if it is no number."""
    return float(version[-15:]) if version.isascii() and version.isdigit() else 0.0
