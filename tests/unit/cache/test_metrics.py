"""Metrics of informers."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.clusters import QUICK, reached, turns_until
from tests.unit.cache.recording_handler import RecordingHandler

from masthead import metrics as known
from masthead._cache.informer.informer import SharedInformer
from masthead.metrics import Metric, PrometheusMetrics

if TYPE_CHECKING:
    from tests.unit.cache.fake_list_watch import FakeListWatch

    from masthead.api.core.v1 import ConfigMap


class Instrument:
    """Records all values."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def inc(self, amount: float = 1) -> None:
        self.values.append(amount)

    def set(self, value: float) -> None:
        self.values.append(value)

    def observe(self, amount: float) -> None:
        self.values.append(amount)


class Recording:
    """Recording metrics: the values, by metric."""

    def __init__(self) -> None:
        self.instruments: dict[str, Instrument] = defaultdict(Instrument)
        self.labels: dict[str, dict[str, str]] = {}

    def counter(self, metric: Metric, **labels: str) -> Instrument:
        assert set(labels) == set(metric.labels)
        self.labels[metric.name] = labels
        return self.instruments[metric.name]

    gauge = histogram = counter

    def count(self, metric: Metric) -> float:
        return sum(self.instruments[metric.name].values)

    def last(self, metric: Metric) -> float:
        return self.instruments[metric.name].values[-1]


def counting(source: FakeListWatch, metrics: Any, **options: Any) -> SharedInformer[ConfigMap]:
    return SharedInformer(source, metrics=metrics, backoff=QUICK, **options)


@pytest.mark.slow
async def test_lists_watches_and_versions_are_counted(source: FakeListWatch) -> None:
    metrics = Recording()
    for name in "abc":
        source.put(name)
    async with counting(source, metrics, name="maps") as informer:
        await informer.wait_for_cache_sync(30)
        assert metrics.count(known.REFLECTOR_LISTS) == 1
        assert metrics.instruments[known.REFLECTOR_ITEMS_PER_LIST.name].values == [3]
        assert metrics.count(known.REFLECTOR_LIST_DURATION) >= 0
        source.put("d")
        source.spoil("bad")
        await reached(informer, str(source.version))
        assert metrics.last(known.REFLECTOR_LAST_RESOURCE_VERSION) == source.version
        assert metrics.last(known.INFORMER_STORE_RESOURCE_VERSION) == source.version
        assert metrics.last(known.INFORMER_BROKEN_OBJECTS) == 1
        assert metrics.last(known.INFORMER_QUEUED_ITEMS) >= 0
        assert metrics.instruments[known.INFORMER_PROCESSING_LATENCY.name].values
        assert metrics.count(known.INFORMER_RELISTS) == 0
        source.put("e")
        source.forget()
        source.put("f")
        source.end(OSError("cable"))
        await reached(informer, str(source.version))
    assert metrics.count(known.REFLECTOR_WATCHES) >= 2
    assert metrics.count(known.REFLECTOR_ITEMS_PER_WATCH) >= 5
    assert metrics.labels[known.REFLECTOR_LISTS.name] == {"name": "maps", "resource": "configmaps"}


async def test_relists_are_counted_apart_from_the_first_list(source: FakeListWatch) -> None:
    metrics = Recording()
    source.put("a")
    async with counting(source, metrics) as informer:
        await informer.wait_for_cache_sync(30)
        source.is_silent = True
        source.put("b")
        source.forget()
        source.put("c")
        source.forget()
        source.is_silent = False
        source.end(OSError("cable"))
        await reached(informer, str(source.version))
        assert metrics.count(known.INFORMER_RELISTS) == informer.health.relists == 1


async def test_pending_notifications_and_handler_failures_are_counted(source: FakeListWatch) -> None:
    def fail() -> None:
        raise LookupError("no such shelf")

    metrics = Recording()
    informer = counting(source, metrics)
    handle = informer.add_event_handler(RecordingHandler(fail), name="shelf")
    async with informer:
        source.put("a")
        source.put("b")
        await informer.wait_for_cache_sync(30)
        await reached(informer, str(source.version), handle)
    assert metrics.count(known.INFORMER_HANDLER_FAILURES) == 2
    assert max(metrics.instruments[known.INFORMER_HANDLER_PENDING.name].values) >= 1
    assert metrics.labels[known.INFORMER_HANDLER_PENDING.name]["handler"] == "shelf"


async def test_pending_notifications_are_zero_once_a_handler_has_caught_up_or_ended(
    source: FakeListWatch,
) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_: ConfigMap) -> None:
        entered.set()
        await go_on.wait()

    metrics = Recording()
    informer = counting(source, metrics)
    for name in "abc":
        source.put(name)
    handle = informer.add_event_handler(on_add=wait)
    async with informer:
        await entered.wait()
        assert metrics.last(known.INFORMER_HANDLER_PENDING) > 0
        go_on.set()
        await reached(informer, str(source.version), handle)
        await turns_until(lambda: metrics.last(known.INFORMER_HANDLER_PENDING) == handle.pending == 0)
        go_on.clear()
        entered.clear()
        source.put("d")
        await entered.wait()
        assert metrics.last(known.INFORMER_HANDLER_PENDING) == 1
        await informer.stop(timeout=0.0)
    assert metrics.last(known.INFORMER_HANDLER_PENDING) == 0


async def test_failing_metrics_lose_no_notification(source: FakeListWatch, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Recording):
        def gauge(self, metric: Metric, **labels: str) -> Instrument:
            made = super().gauge(metric, **labels)
            return Broken() if metric is known.INFORMER_HANDLER_PENDING else made

    class Broken(Instrument):
        def set(self, value: float) -> None:
            raise LookupError(f"no gauge for {value}")

    received: list[str] = []
    informer = counting(source, Failing())
    handle = informer.add_event_handler(on_add=lambda each: received.append(each.metadata.name), name="ear")
    async with informer:
        await informer.wait_for_cache_sync(30)
        source.put("a")
        await reached(informer, str(source.version), handle)
    assert received == ["a"]
    assert caplog.text.count("metrics of handler ear failed") == 1


async def test_prometheus_exports_them_under_client_gos_names(source: FakeListWatch) -> None:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    source.put("a")
    async with counting(source, PrometheusMetrics(registry), name="maps") as informer:
        await informer.wait_for_cache_sync(30)
        text = prometheus.generate_latest(registry).decode()
    assert 'reflector_lists_total{name="maps",resource="configmaps"} 1.0' in text
    assert 'reflector_last_resource_version{name="maps",resource="configmaps"} 11.0' in text
