"""What work queues count, under client-go's names."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry

from masthead import metrics as known
from masthead.aio import WorkQueue
from masthead.metrics import NO_METRICS, WORKQUEUE_METRICS, PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time
from masthead.workqueue import FastSlowRateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.workqueue.drivers import Driver

    from masthead.metrics import Counter, Gauge, Histogram, Metric

SITES = {"name": "sites"}


class PlainMetrics:
    """A metrics system that cannot compute gauges when they are read."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def counter(self, metric: Metric, **labels: str) -> Counter:
        return self._instrument(metric, labels)

    def gauge(self, metric: Metric, **labels: str) -> Gauge:
        return self._instrument(metric, labels)

    def histogram(self, metric: Metric, **labels: str) -> Histogram:
        return self._instrument(metric, labels)

    def _instrument(self, metric: Metric, labels: dict[str, str]) -> PlainInstrument:
        assert labels == SITES
        return PlainInstrument(self.values, metric.name)


class PlainInstrument:
    def __init__(self, values: dict[str, float], name: str) -> None:
        self.values, self.name = values, name

    def inc(self, amount: float = 1) -> None:
        self.values[self.name] = self.values.get(self.name, 0.0) + amount

    def set(self, value: float) -> None:
        self.values[self.name] = value

    def observe(self, amount: float) -> None:
        self.inc(amount)


class BrokenMetrics(PlainMetrics):
    def _instrument(self, metric: Metric, labels: dict[str, str]) -> PlainInstrument:
        del labels

        class Broken(PlainInstrument):
            def inc(self, amount: float = 1) -> None:
                raise OSError(amount)

        return Broken(self.values, metric.name)


def test_names_and_labels_are_those_of_client_go() -> None:
    assert {metric.name for metric in WORKQUEUE_METRICS} == {
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_retries_total",
    }
    assert {metric.labels for metric in WORKQUEUE_METRICS} == {("name",)}
    assert set(WORKQUEUE_METRICS) <= set(known.ALL)


@in_virtual_time
async def test_a_queue_counts_adds_retries_waits_and_work() -> None:
    registry = CollectorRegistry()

    def value(name: str, suffix: str = "") -> float | None:
        return registry.get_sample_value(f"workqueue_{name}{suffix}", SITES)

    queue = WorkQueue[str]("sites", metrics=PrometheusMetrics(registry), rate_limiter=FastSlowRateLimiter(4.0, 9.0, 1))
    for key in "abba":
        queue.add(key)
    assert (value("depth"), value("adds_total")) == (2.0, 2.0)

    await asyncio.sleep(1)
    await queue.get()
    await asyncio.sleep(2)
    await queue.get()
    await asyncio.sleep(3)
    assert value("depth") == 0.0
    assert (value("unfinished_work_seconds"), value("longest_running_processor_seconds")) == (8.0, 5.0)
    assert (value("queue_duration_seconds", "_count"), value("queue_duration_seconds", "_sum")) == (2.0, 4.0)

    queue.add("a")
    queue.add("a")
    assert (value("depth"), value("adds_total")) == (1.0, 3.0)
    queue.done("a")
    queue.done("b")
    assert (value("work_duration_seconds", "_count"), value("work_duration_seconds", "_sum")) == (2.0, 8.0)
    assert value("unfinished_work_seconds") == 0.0

    queue.add_rate_limited("c")
    queue.add_after("d", 1)
    assert (value("retries_total"), value("adds_total"), value("depth")) == (2.0, 3.0, 1.0)
    await queue.get()
    await queue.get()
    await queue.get()
    assert (value("adds_total"), value("queue_duration_seconds", "_sum")) == (5.0, 4.0)


@in_virtual_time
async def test_gauges_are_set_at_each_call_if_they_cannot_be_computed_when_read() -> None:
    metrics = PlainMetrics()
    queue = WorkQueue[str]("sites", metrics=metrics)
    queue.add("a")
    queue.add("b")
    assert metrics.values["workqueue_depth"] == 2.0

    await queue.get()
    await asyncio.sleep(5)
    await queue.get()
    assert metrics.values["workqueue_longest_running_processor_seconds"] == 5.0
    queue.done("a")
    queue.discard("b")
    queue.done("b")
    assert metrics.values["workqueue_unfinished_work_seconds"] == 0.0
    assert metrics.values["workqueue_depth"] == 0.0


def test_both_queues_count_alike(make: Callable[..., Driver]) -> None:
    registry = CollectorRegistry()
    driver = make(name="sites", metrics=PrometheusMetrics(registry))
    driver.queue.add_after("a", 0.001)
    driver.get().result(10)
    driver.queue.add("a")
    driver.queue.done("a")

    values = {
        name: registry.get_sample_value(f"workqueue_{name}", SITES)
        for name in ("adds_total", "retries_total", "depth", "work_duration_seconds_count")
    }
    assert values == {
        "adds_total": 2.0,
        "retries_total": 1.0,
        "depth": 1.0,
        "work_duration_seconds_count": 1.0,
    }


def test_a_queue_without_a_name_counts_nothing(make: Callable[..., Driver]) -> None:
    registry = CollectorRegistry()
    make(metrics=PrometheusMetrics(registry)).queue.add("a")
    make(name="sites", metrics=NO_METRICS).queue.add("a")

    assert list(registry.collect()) == []


@pytest.mark.slow
@in_virtual_time
async def test_the_gauges_of_a_queue_that_is_gone_are_zero() -> None:
    registry = CollectorRegistry()
    queue = WorkQueue[str]("sites", metrics=PrometheusMetrics(registry))
    queue.add("a")
    assert registry.get_sample_value("workqueue_depth", SITES) == 1.0

    del queue
    gc.collect()
    assert registry.get_sample_value("workqueue_depth", SITES) == 0.0


@in_virtual_time
async def test_metrics_that_fail_cost_no_key_and_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    queue = WorkQueue[str]("sites", metrics=BrokenMetrics())
    with caplog.at_level(logging.ERROR, "masthead.workqueue"):
        for key in "abc":
            queue.add(key)
            assert await queue.get() == key
            queue.done(key)

    assert [record.getMessage() for record in caplog.records] == [
        "metrics of work queue sites failed; further failures are not logged"
    ]
