"""Metrics of informers, controllers, work queues and API calls, and the interface to metrics systems.

A provider returns an instrument for a metric and its labels. Request it once and keep it; updating it is cheap and
thread-safe::

    lists = metrics.counter(REFLECTOR_LISTS, name="pods", resource="v1/pods")
    lists.inc()

By default no metrics are recorded. `PrometheusMetrics` needs the extra ``masthead-k8s[metrics]``. To use another
metrics system, implement the three methods of `Metrics`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, cast

from masthead.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics import MetricWrapperBase

__all__ = [
    "ALL",
    "CONTROLLER_METRICS",
    "INFORMER_METRICS",
    "LEADER_ELECTION_METRICS",
    "NO_METRICS",
    "RECONCILE_RESULTS",
    "RECORDER_METRICS",
    "REST_CLIENT_METRICS",
    "WEBHOOK_METRICS",
    "WORKQUEUE_METRICS",
    "Counter",
    "Gauge",
    "Histogram",
    "Metric",
    "MetricKind",
    "Metrics",
    "NoMetrics",
    "PrometheusMetrics",
    "version_number",
]

MetricKind: TypeAlias = Literal["counter", "gauge", "histogram"]
"""The type of a metric, as Prometheus defines it."""


@dataclass(frozen=True, slots=True)
class Metric:
    """The description of a metric.

    Attributes:
        name: The full name.
        kind: The type.
        help: The help text.
        labels: The names of its labels.
        buckets: The upper bounds of a histogram's buckets.
    """

    name: str
    kind: MetricKind
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()


_INFORMER: Final = ("name", "resource")
_HANDLER: Final = (*_INFORMER, "handler")
_LATENCIES: Final = (0.000_1, 0.001, 0.01, 0.1, 1.0, 10.0)
_DURATIONS: Final = (0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0)
_WATCHES: Final = (1.0, 10.0, 60.0, 120.0, 300.0, 450.0, 600.0)
_ITEMS: Final = (1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)

# differs from client-go: histograms instead of summaries, because they can be aggregated over processes.
REFLECTOR_LISTS: Final = Metric("reflector_lists_total", "counter", "Number of lists.", _INFORMER)
REFLECTOR_LIST_DURATION: Final = Metric(
    "reflector_list_duration_seconds",
    "histogram",
    "Duration of lists, all pages included.",
    _INFORMER,
    _DURATIONS,
)
REFLECTOR_ITEMS_PER_LIST: Final = Metric(
    "reflector_items_per_list", "histogram", "Number of objects per list.", _INFORMER, _ITEMS
)
# differs from client-go: watches are counted when they end, and those that failed to open are included.
REFLECTOR_WATCHES: Final = Metric(
    "reflector_watches_total",
    "counter",
    "Number of watches that have ended, watch-lists included.",
    _INFORMER,
)
REFLECTOR_SHORT_WATCHES: Final = Metric(
    "reflector_short_watches_total",
    "counter",
    "Number of watches that ended at once without an event.",
    _INFORMER,
)
REFLECTOR_WATCH_DURATION: Final = Metric(
    "reflector_watch_duration_seconds", "histogram", "Duration of watches.", _INFORMER, _WATCHES
)
REFLECTOR_ITEMS_PER_WATCH: Final = Metric(
    "reflector_items_per_watch", "histogram", "Number of events per watch.", _INFORMER, _ITEMS
)
REFLECTOR_LAST_RESOURCE_VERSION: Final = Metric(
    "reflector_last_resource_version",
    "gauge",
    "The last resource version received from the server.",
    _INFORMER,
)
INFORMER_QUEUED_ITEMS: Final = Metric(
    "informer_queued_items", "gauge", "Number of changes that are queued for the store.", _INFORMER
)
INFORMER_PROCESSING_LATENCY: Final = Metric(
    "informer_processing_latency_seconds",
    "histogram",
    "Time to apply changes to the store and dispatch notifications.",
    _INFORMER,
    _LATENCIES,
)
INFORMER_STORE_RESOURCE_VERSION: Final = Metric(
    "informer_store_resource_version", "gauge", "The resource version of the store.", _INFORMER
)
INFORMER_HANDLER_PENDING: Final = Metric(
    "informer_handler_pending", "gauge", "Number of notifications that are queued for a handler.", _HANDLER
)
INFORMER_HANDLER_FAILURES: Final = Metric(
    "informer_handler_failures_total", "counter", "Number of exceptions raised by a handler.", _HANDLER
)
INFORMER_BROKEN_OBJECTS: Final = Metric(
    "informer_broken_objects", "gauge", "Number of objects on the server that cannot be decoded.", _INFORMER
)
INFORMER_RELISTS: Final = Metric(
    "informer_relists_total", "counter", "Number of relists after the first list.", _INFORMER
)

# The names, labels and buckets of controller-runtime, which dashboards and alerts know.
_CONTROLLER: Final = ("controller",)
_RECONCILES: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    *(15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_CALLS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)

RECONCILE_RESULTS: Final = ("success", "error", "requeue", "requeue_after")
"""The values of the label ``result`` of `RECONCILE_TOTAL`."""

RECONCILE_TOTAL: Final = Metric(
    "controller_runtime_reconcile_total", "counter", "Number of reconciles.", ("controller", "result")
)
RECONCILE_ERRORS: Final = Metric(
    "controller_runtime_reconcile_errors_total", "counter", "Number of reconciles that failed.", _CONTROLLER
)
TERMINAL_RECONCILE_ERRORS: Final = Metric(
    "controller_runtime_terminal_reconcile_errors_total",
    "counter",
    "Number of reconciles that failed with a terminal error, which is not retried.",
    _CONTROLLER,
)
# differs from controller-runtime: an exception is an error; a panic is what no reconcile may do.
RECONCILE_PANICS: Final = Metric(
    "controller_runtime_reconcile_panics_total",
    "counter",
    "Number of reconciles that raised something other than an Exception, or returned no valid result.",
    _CONTROLLER,
)
MAPPING_ERRORS: Final = Metric(
    "masthead_controller_mapping_errors_total",
    "counter",
    "Number of errors of the functions that map objects to requests.",
    _CONTROLLER,
)
RECONCILE_TIMEOUTS: Final = Metric(
    "controller_runtime_reconcile_timeouts_total",
    "counter",
    "Number of reconciles that were cancelled by the controller's timeout.",
    _CONTROLLER,
)
RECONCILE_TIME: Final = Metric(
    "controller_runtime_reconcile_time_seconds",
    "histogram",
    "Duration of reconciles.",
    _CONTROLLER,
    _RECONCILES,
)
MAX_CONCURRENT_RECONCILES: Final = Metric(
    "controller_runtime_max_concurrent_reconciles",
    "gauge",
    "Number of workers of a controller.",
    _CONTROLLER,
)
ACTIVE_WORKERS: Final = Metric(
    "controller_runtime_active_workers",
    "gauge",
    "Number of workers of a controller that are reconciling.",
    _CONTROLLER,
)

# differs from controller-runtime: the label is the name of the webhook, not its path.
_WEBHOOK: Final = ("webhook",)
_WEBHOOK_LATENCIES: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

WEBHOOK_LATENCY: Final = Metric(
    "controller_runtime_webhook_latency_seconds",
    "histogram",
    "Duration of webhook calls.",
    _WEBHOOK,
    _WEBHOOK_LATENCIES,
)
WEBHOOK_REQUESTS: Final = Metric(
    "controller_runtime_webhook_requests_total",
    "counter",
    "Number of webhook calls by HTTP status code; a refused request is a successful call.",
    (*_WEBHOOK, "code"),
)
WEBHOOK_IN_FLIGHT: Final = Metric(
    "controller_runtime_webhook_requests_in_flight", "gauge", "Number of webhook calls in progress.", _WEBHOOK
)
WEBHOOK_CERTIFICATE_EXPIRY: Final = Metric(
    "masthead_webhook_certificate_expiry_seconds",
    "gauge",
    "Unix time at which the certificate of the webhook server expires.",
    ("name",),
)

REST_CLIENT_REQUESTS: Final = Metric(
    "rest_client_requests_total",
    "counter",
    "Number of HTTP requests, each retry included; the code is <error> if no response arrived.",
    ("code", "method", "host"),
)
REST_CLIENT_REQUEST_DURATION: Final = Metric(
    "rest_client_request_duration_seconds",
    "histogram",
    "Time from sending an HTTP request to its response; to the first byte of a stream.",
    ("verb", "host"),
    _CALLS,
)

_RECORDER: Final = ("component",)
EVENTS_SENT: Final = Metric(
    "masthead_events_sent_total",
    "counter",
    "Number of Events that were created or patched.",
    (*_RECORDER, "verb"),
)
EVENTS_FAILED: Final = Metric(
    "masthead_events_failed_total",
    "counter",
    "Number of writes of Events that were given up.",
    (*_RECORDER, "reason"),
)
EVENTS_DROPPED: Final = Metric(
    "masthead_events_dropped_total", "counter", "Number of Events dropped because too many waited.", _RECORDER
)
EVENTS_FILTERED: Final = Metric(
    "masthead_events_filtered_total",
    "counter",
    "Number of Events that the spam filter has held back.",
    _RECORDER,
)
EVENTS_PENDING: Final = Metric(
    "masthead_events_pending", "gauge", "Number of Events that wait to be written.", _RECORDER
)

# The names and buckets of client-go, which counts in seconds from a nanosecond on.
_QUEUE: Final = ("name",)
_QUEUE_LATENCIES: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0)

WORKQUEUE_DEPTH: Final = Metric("workqueue_depth", "gauge", "Number of keys that wait to be handed out.", _QUEUE)
WORKQUEUE_ADDS: Final = Metric(
    "workqueue_adds_total", "counter", "Number of keys that were enqueued, duplicates not counted.", _QUEUE
)
WORKQUEUE_QUEUE_DURATION: Final = Metric(
    "workqueue_queue_duration_seconds",
    "histogram",
    "Time from the first add of a key until it is handed out.",
    _QUEUE,
    _QUEUE_LATENCIES,
)
WORKQUEUE_WORK_DURATION: Final = Metric(
    "workqueue_work_duration_seconds",
    "histogram",
    "Time from handing out a key until it is done.",
    _QUEUE,
    _QUEUE_LATENCIES,
)
WORKQUEUE_UNFINISHED_WORK: Final = Metric(
    "workqueue_unfinished_work_seconds",
    "gauge",
    "Time for which the keys in processing have been processed so far, added up; it grows if workers are stuck.",
    _QUEUE,
)
WORKQUEUE_LONGEST_RUNNING: Final = Metric(
    "workqueue_longest_running_processor_seconds",
    "gauge",
    "Time for which the key that has been processed longest has been processed so far.",
    _QUEUE,
)
WORKQUEUE_RETRIES: Final = Metric(
    "workqueue_retries_total",
    "counter",
    "Number of keys that were added with a delay or a rate limit.",
    _QUEUE,
)

LEADER_ELECTION_MASTER_STATUS: Final = Metric(
    "leader_election_master_status",
    "gauge",
    "Whether this process leads: 1, or 0. The name is the one of the lease.",
    ("name",),
)
LEADER_ELECTION_SLOWPATH: Final = Metric(
    "leader_election_slowpath_total",
    "counter",
    "Number of renewals for which the lease had to be read first.",
    ("name",),
)
LEADER_ELECTION_OVERDUE: Final = Metric(
    "leader_election_overdue",
    "gauge",
    "Whether work still runs though its lease has expired: 1, or 0. Another process may lead meanwhile.",
    ("name",),
)

INFORMER_METRICS: Final = (
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
"""The metrics of informers."""

CONTROLLER_METRICS: Final = (
    RECONCILE_TOTAL,
    RECONCILE_ERRORS,
    TERMINAL_RECONCILE_ERRORS,
    RECONCILE_PANICS,
    RECONCILE_TIMEOUTS,
    MAPPING_ERRORS,
    RECONCILE_TIME,
    MAX_CONCURRENT_RECONCILES,
    ACTIVE_WORKERS,
)
"""The metrics of controllers."""

WEBHOOK_METRICS: Final = (WEBHOOK_LATENCY, WEBHOOK_REQUESTS, WEBHOOK_IN_FLIGHT, WEBHOOK_CERTIFICATE_EXPIRY)
"""The metrics of webhooks."""

WORKQUEUE_METRICS: Final = (
    WORKQUEUE_DEPTH,
    WORKQUEUE_ADDS,
    WORKQUEUE_QUEUE_DURATION,
    WORKQUEUE_WORK_DURATION,
    WORKQUEUE_UNFINISHED_WORK,
    WORKQUEUE_LONGEST_RUNNING,
    WORKQUEUE_RETRIES,
)
"""The metrics of work queues that have a name."""

REST_CLIENT_METRICS: Final = (REST_CLIENT_REQUESTS, REST_CLIENT_REQUEST_DURATION)
"""The metrics of API calls."""

RECORDER_METRICS: Final = (EVENTS_SENT, EVENTS_FAILED, EVENTS_DROPPED, EVENTS_FILTERED, EVENTS_PENDING)
"""The metrics of event recorders."""

LEADER_ELECTION_METRICS: Final = (
    LEADER_ELECTION_MASTER_STATUS,
    LEADER_ELECTION_SLOWPATH,
    LEADER_ELECTION_OVERDUE,
)
"""The metrics of leader election."""

ALL: Final = (
    *INFORMER_METRICS,
    *CONTROLLER_METRICS,
    *WEBHOOK_METRICS,
    *WORKQUEUE_METRICS,
    *REST_CLIENT_METRICS,
    *RECORDER_METRICS,
    *LEADER_ELECTION_METRICS,
)
"""All metrics."""


class Counter(Protocol):
    """A value that only increases."""

    def inc(self, amount: float = 1) -> None:
        """Increase the value."""
        ...


class Gauge(Protocol):
    """A value that goes up and down.

    A gauge may also have a method ``set_function(function)``, as in prometheus_client. Values that depend on the time
    are then computed whenever the metrics are read; otherwise they are updated with the next event.
    """

    def set(self, value: float) -> None:
        """Set the current value."""
        ...


class Histogram(Protocol):
    """A distribution of observed values."""

    def observe(self, amount: float) -> None:
        """Record a value."""
        ...


class Metrics(Protocol):
    """A provider of instruments: the same one for the same metric and labels.

    Threads: all methods, and those of the instruments, may be called from any thread.
    """

    def counter(self, metric: Metric, **labels: str) -> Counter:
        """Return the counter of a metric with these labels."""
        ...

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        """Return the gauge of a metric with these labels."""
        ...

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        """Return the histogram of a metric with these labels."""
        ...


class _NoopInstrument:
    """An instrument that records nothing."""

    __slots__ = ()

    def inc(self, amount: float = 1) -> None: ...

    def set(self, value: float) -> None: ...

    def observe(self, amount: float) -> None: ...


class NoMetrics:
    """A provider that records nothing."""

    __slots__ = ()

    def counter(self, metric: Metric, **labels: str) -> Counter:
        """Return a counter that records nothing."""
        del metric, labels
        return _NOOP

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        """Return a gauge that records nothing."""
        del metric, labels
        return _NOOP

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        """Return a histogram that records nothing."""
        del metric, labels
        return _NOOP


_NOOP: Final = _NoopInstrument()
NO_METRICS: Final[Metrics] = NoMetrics()
"""The default provider: no metrics are recorded."""


class PrometheusMetrics:
    """Records metrics in a registry of prometheus_client. Share one instance: a registry accepts each name only once.

    Args:
        registry: The registry; by default the global one.

    Raises:
        ConfigError: If prometheus-client is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            import prometheus_client
        except ImportError:
            raise ConfigError("metrics need prometheus-client: pip install 'masthead-k8s[metrics]'") from None
        self._registry = prometheus_client.REGISTRY if registry is None else registry
        self._lock = threading.Lock()
        self._families: dict[Metric, MetricWrapperBase] = {}

    @property
    def registry(self) -> CollectorRegistry:
        """The registry."""
        return self._registry

    def counter(self, metric: Metric, **labels: str) -> Counter:
        """Return the counter of a metric with these labels.

        Raises:
            ArgumentError: If the metric has another type or other labels.
            ConfigError: If the registry rejects it, usually because the name is taken.
        """
        return cast("Counter", self._instrument("counter", metric, labels))

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        """Return the gauge of a metric with these labels.

        Raises:
            ArgumentError: If the metric has another type or other labels.
            ConfigError: If the registry rejects it, usually because the name is taken.
        """
        return cast("Gauge", self._instrument("gauge", metric, labels))

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        """Return the histogram of a metric with these labels.

        Raises:
            ArgumentError: If the metric has another type or other labels.
            ConfigError: If the registry rejects it, usually because the name is taken.
        """
        return cast("Histogram", self._instrument("histogram", metric, labels))

    def _instrument(self, kind: MetricKind, metric: Metric, labels: dict[str, str]) -> object:
        if metric.kind != kind:
            raise ArgumentError(f"{metric.name} is a {metric.kind}, not a {kind}", value=metric)
        if set(labels) != set(metric.labels):
            raise ArgumentError(
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
    """Convert a resource version to a gauge value: the last 15 digits, which a float holds exactly; 0 for text."""
    return float(version[-15:]) if version.isascii() and version.isdigit() else 0.0
