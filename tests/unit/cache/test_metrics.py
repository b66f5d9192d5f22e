"""What informers count, and for whom."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cache.story import Story
from tests.unit.cache.worlds import QUICK, reached, turns_until

from masthead import metrics as known
from masthead._cache.informer.informer import SharedInformer
from masthead.metrics import Metric, PrometheusMetrics

if TYPE_CHECKING:
    from tests.unit.cache.collection import Collection

    from masthead.api.core.v1 import ConfigMap


class Instrument:
    """Remembers all that it was told."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def inc(self, amount: float = 1) -> None:
        self.values.append(amount)

    def set(self, value: float) -> None:
        self.values.append(value)

    def observe(self, amount: float) -> None:
        self.values.append(amount)


class Recording:
    """Metrics of a test's own: what was told, by metric."""

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


def counting(collection: Collection, metrics: Any, **options: Any) -> SharedInformer[ConfigMap]:
    return SharedInformer(collection, metrics=metrics, backoff=QUICK, **options)


async def test_lists_watches_and_versions_are_counted(collection: Collection) -> None:
    metrics = Recording()
    for name in "abc":
        collection.put(name)
    async with counting(collection, metrics, name="maps") as informer:
        await informer.wait_synced(30)
        assert metrics.count(known.REFLECTOR_LISTS) == 1
        assert metrics.instruments[known.REFLECTOR_ITEMS_PER_LIST.name].values == [3]
        assert metrics.count(known.REFLECTOR_LIST_DURATION) >= 0
        collection.put("d")
        collection.spoil("bad")
        await reached(informer, str(collection.version))
        assert metrics.last(known.REFLECTOR_LAST_RESOURCE_VERSION) == collection.version
        assert metrics.last(known.INFORMER_STORE_RESOURCE_VERSION) == collection.version
        assert metrics.last(known.INFORMER_BROKEN_OBJECTS) == 1
        assert metrics.last(known.INFORMER_QUEUED_ITEMS) >= 0
        assert metrics.instruments[known.INFORMER_PROCESSING_LATENCY.name].values
        assert metrics.count(known.INFORMER_RELISTS) == 0
        collection.put("e")
        collection.forget()
        collection.put("f")
        collection.end(OSError("cable"))
        await reached(informer, str(collection.version))
    assert metrics.count(known.REFLECTOR_WATCHES) >= 2
    assert metrics.count(known.REFLECTOR_ITEMS_PER_WATCH) >= 5
    assert metrics.labels[known.REFLECTOR_LISTS.name] == {"name": "maps", "resource": "configmaps"}


async def test_relists_are_counted_apart_from_the_first_list(collection: Collection) -> None:
    metrics = Recording()
    collection.put("a")
    async with counting(collection, metrics) as informer:
        await informer.wait_synced(30)
        collection.is_silent = True
        collection.put("b")
        collection.forget()
        collection.put("c")
        collection.forget()
        collection.is_silent = False
        collection.end(OSError("cable"))
        await reached(informer, str(collection.version))
        assert metrics.count(known.INFORMER_RELISTS) == informer.health.relists == 1


async def test_what_waits_for_a_handler_and_how_often_it_failed_is_counted(collection: Collection) -> None:
    def fail() -> None:
        raise LookupError("no such shelf")

    metrics = Recording()
    informer = counting(collection, metrics)
    handle = informer.add_event_handler(Story(fail), name="shelf")
    async with informer:
        collection.put("a")
        collection.put("b")
        await informer.wait_synced(30)
        await reached(informer, str(collection.version), handle)
    assert metrics.count(known.INFORMER_HANDLER_FAILURES) == 2
    assert max(metrics.instruments[known.INFORMER_HANDLER_PENDING.name].values) >= 1
    assert metrics.labels[known.INFORMER_HANDLER_PENDING.name]["handler"] == "shelf"


async def test_what_waits_for_a_handler_is_nothing_once_it_has_heard_all_and_once_it_has_ended(
    collection: Collection,
) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def wait(_: ConfigMap) -> None:
        entered.set()
        await go_on.wait()

    metrics = Recording()
    informer = counting(collection, metrics)
    for name in "abc":
        collection.put(name)
    handle = informer.add_event_handler(on_add=wait)
    async with informer:
        await entered.wait()
        assert metrics.last(known.INFORMER_HANDLER_PENDING) > 0
        go_on.set()
        await reached(informer, str(collection.version), handle)
        await turns_until(lambda: metrics.last(known.INFORMER_HANDLER_PENDING) == handle.pending == 0)
        go_on.clear()
        entered.clear()
        collection.put("d")
        await entered.wait()
        assert metrics.last(known.INFORMER_HANDLER_PENDING) == 1
        await informer.stop(grace=0.0)
    assert metrics.last(known.INFORMER_HANDLER_PENDING) == 0


async def test_metrics_that_fail_cost_a_handler_nothing(
    collection: Collection, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Recording):
        def gauge(self, metric: Metric, **labels: str) -> Instrument:
            made = super().gauge(metric, **labels)
            return Broken() if metric is known.INFORMER_HANDLER_PENDING else made

    class Broken(Instrument):
        def set(self, value: float) -> None:
            raise LookupError(f"no gauge for {value}")

    heard: list[str] = []
    informer = counting(collection, Failing())
    handle = informer.add_event_handler(on_add=lambda each: heard.append(each.metadata.name), name="ear")
    async with informer:
        await informer.wait_synced(30)
        collection.put("a")
        await reached(informer, str(collection.version), handle)
    assert heard == ["a"]
    assert caplog.text.count("metrics of handler ear failed") == 1


async def test_prometheus_has_them_by_client_gos_names(collection: Collection) -> None:
    prometheus = pytest.importorskip("prometheus_client")
    registry = prometheus.CollectorRegistry()
    collection.put("a")
    async with counting(collection, PrometheusMetrics(registry), name="maps") as informer:
        await informer.wait_synced(30)
        text = prometheus.generate_latest(registry).decode()
    assert 'reflector_lists_total{name="maps",resource="configmaps"} 1.0' in text
    assert 'reflector_last_resource_version{name="maps",resource="configmaps"} 11.0' in text
