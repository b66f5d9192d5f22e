"""Metrics: what is counted under which name, nothing by default, and in Prometheus on request."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from masthead import metrics
from masthead.errors import ArgumentError, ConfigError
from masthead.metrics import (
    ALL,
    CONTROLLER_METRICS,
    INFORMER_BROKEN_OBJECTS,
    INFORMER_HANDLER_PENDING,
    INFORMER_METRICS,
    INFORMER_PROCESSING_LATENCY,
    INFORMER_RELISTS,
    NO_METRICS,
    REST_CLIENT_METRICS,
    Metric,
    Metrics,
    PrometheusMetrics,
    version_number,
)

PODS = {"name": "pods", "resource": "v1/pods"}
NODES = {"name": "nodes", "resource": "v1/nodes"}


def test_names_are_those_that_dashboards_know() -> None:
    assert {metric.name for metric in ALL} >= {
        "reflector_lists_total",
        "reflector_list_duration_seconds",
        "reflector_items_per_list",
        "reflector_watches_total",
        "reflector_short_watches_total",
        "reflector_watch_duration_seconds",
        "reflector_items_per_watch",
        "reflector_last_resource_version",
        "informer_queued_items",
        "informer_processing_latency_seconds",
        "informer_store_resource_version",
    }


def test_controllers_and_calls_have_the_names_and_labels_of_controller_runtime() -> None:
    assert {metric.name: metric.labels for metric in (*CONTROLLER_METRICS, *REST_CLIENT_METRICS)} == {
        "controller_runtime_reconcile_total": ("controller", "result"),
        "controller_runtime_reconcile_errors_total": ("controller",),
        "controller_runtime_terminal_reconcile_errors_total": ("controller",),
        "controller_runtime_reconcile_panics_total": ("controller",),
        "controller_runtime_reconcile_timeouts_total": ("controller",),
        "controller_runtime_reconcile_time_seconds": ("controller",),
        "controller_runtime_max_concurrent_reconciles": ("controller",),
        "controller_runtime_active_workers": ("controller",),
        "masthead_controller_mapping_errors_total": ("controller",),
        "rest_client_requests_total": ("code", "method", "host"),
        "rest_client_request_duration_seconds": ("verb", "host"),
    }


def test_metrics_of_informers_name_the_informer_and_its_resource() -> None:
    assert {metric.labels[:2] for metric in INFORMER_METRICS} == {("name", "resource")}


def test_the_table_is_complete_and_sound() -> None:
    assert set(ALL) == {value for value in vars(metrics).values() if isinstance(value, Metric)}
    assert len({metric.name for metric in ALL}) == len(ALL)
    for metric in ALL:
        assert metric.help.endswith(".")
        assert (metric.kind == "counter") == metric.name.endswith("_total")
        assert (metric.kind == "histogram") == bool(metric.buckets)
        assert list(metric.buckets) == sorted(set(metric.buckets))


def use(provider: Metrics, metric: Metric, **labels: str) -> None:
    """Use an instrument of whichever kind it is."""
    if metric.kind == "counter":
        provider.counter(metric, **labels).inc()
    elif metric.kind == "gauge":
        provider.gauge(metric, **labels).set(1)
    else:
        provider.histogram(metric, **labels).observe(1)


def labels_of(metric: Metric) -> dict[str, str]:
    return dict.fromkeys(metric.labels, "x")


def test_by_default_everything_may_be_counted_and_nothing_is() -> None:
    for metric in ALL:
        use(NO_METRICS, metric, **labels_of(metric))


def test_every_metric_can_be_counted_in_prometheus() -> None:
    registry = CollectorRegistry()
    provider = PrometheusMetrics(registry)
    for metric in ALL:
        use(provider, metric, **labels_of(metric))
    text = generate_latest(registry).decode()
    for metric in ALL:
        assert re.search(rf"^{metric.name}(_count)?{{.*}} 1\.0$", text, re.MULTILINE), metric.name


def test_several_informers_share_one_provider() -> None:
    registry = CollectorRegistry()
    provider = PrometheusMetrics(registry)
    provider.counter(INFORMER_RELISTS, **PODS).inc()
    provider.counter(INFORMER_RELISTS, **NODES).inc(3)
    provider.counter(INFORMER_RELISTS, **PODS).inc()
    assert registry.get_sample_value("informer_relists_total", PODS) == 2
    assert registry.get_sample_value("informer_relists_total", NODES) == 3


def test_the_same_labels_give_the_same_instrument() -> None:
    provider = PrometheusMetrics(CollectorRegistry())
    assert provider.gauge(INFORMER_BROKEN_OBJECTS, **PODS) is provider.gauge(INFORMER_BROKEN_OBJECTS, **PODS)


def test_gauges_hold_values_and_histograms_observations() -> None:
    registry = CollectorRegistry()
    provider = PrometheusMetrics(registry)
    pending = provider.gauge(INFORMER_HANDLER_PENDING, **PODS, handler="h")
    pending.set(7)
    pending.set(2)
    latency = provider.histogram(INFORMER_PROCESSING_LATENCY, **PODS)
    latency.observe(0.0005)
    latency.observe(5)
    assert registry.get_sample_value("informer_handler_pending", {**PODS, "handler": "h"}) == 2
    bucket = {**PODS, "le": "0.001"}
    assert registry.get_sample_value("informer_processing_latency_seconds_bucket", bucket) == 1
    assert registry.get_sample_value("informer_processing_latency_seconds_count", PODS) == 2


def test_a_metric_without_labels_can_be_counted() -> None:
    registry = CollectorRegistry()
    plain = Metric("plain_total", "counter", "Plain.", ())
    PrometheusMetrics(registry).counter(plain).inc()
    assert registry.get_sample_value("plain_total") == 1


def test_threads_may_ask_and_count_at_the_same_time() -> None:
    registry = CollectorRegistry()
    provider = PrometheusMetrics(registry)

    def count(_: int) -> None:
        for _ in range(100):
            provider.counter(INFORMER_RELISTS, **PODS).inc()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(8)))
    assert registry.get_sample_value("informer_relists_total", PODS) == 800


def test_wrong_labels_are_refused_with_the_right_ones() -> None:
    provider = PrometheusMetrics(CollectorRegistry())
    with pytest.raises(ArgumentError, match="informer_relists_total has the labels name, resource, not name"):
        provider.counter(INFORMER_RELISTS, name="pods")


def test_a_metric_must_be_requested_with_its_type() -> None:
    with pytest.raises(ArgumentError, match="informer_relists_total is a counter, not a gauge"):
        PrometheusMetrics(CollectorRegistry()).gauge(INFORMER_RELISTS, **PODS)


def test_a_second_provider_on_the_same_registry_raises() -> None:
    registry = CollectorRegistry()
    PrometheusMetrics(registry).counter(INFORMER_RELISTS, **PODS)
    with pytest.raises(ConfigError, match="share one PrometheusMetrics"):
        PrometheusMetrics(registry).counter(INFORMER_RELISTS, **PODS)


@given(st.integers(min_value=0))
def test_a_version_is_shown_by_its_last_15_digits(version: int) -> None:
    assert version_number(str(version)) == version % 10**15


@pytest.mark.parametrize("version", ["", "abc", "12-3", "-1", "²", "٣"])
def test_a_resource_version_that_is_not_a_number_is_zero(version: str) -> None:
    assert version_number(version) == 0


def test_without_prometheus_client_the_message_names_the_extra() -> None:
    program = """
import sys
sys.modules["prometheus_client"] = None
from masthead.errors import ConfigError
from masthead.metrics import PrometheusMetrics
try:
    PrometheusMetrics()
except ConfigError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "masthead-k8s[metrics]" in run.stdout


def test_prometheus_client_is_loaded_only_where_it_is_used() -> None:
    program = "import sys, masthead.metrics; print('prometheus_client' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "False"
