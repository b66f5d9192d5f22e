"""Scrapes by Prometheus, in the requested format and encoding."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from tests.unit.controller.probing import fetch

from masthead._controller.probe_server import ProbeServer
from masthead._endpoint.http_limits import ServerLimits
from masthead.metrics import ALL, Metric, PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from prometheus_client import Metric as Family


@asynccontextmanager
async def metrics_of(registry: CollectorRegistry | None) -> AsyncIterator[int]:
    async with ProbeServer({}, {}, metrics_registry=registry, probe_bind="0", metrics_bind="127.0.0.1:0") as server:
        assert server.metrics_port is not None
        yield server.metrics_port


def registry_with(metrics: Iterable[Metric]) -> CollectorRegistry:
    registry = CollectorRegistry()
    provider = PrometheusMetrics(registry)
    for metric in metrics:
        labels = dict.fromkeys(metric.labels, 'a "quoted" value\n')
        if metric.kind == "counter":
            provider.counter(metric, **labels).inc(3)
        elif metric.kind == "gauge":
            provider.gauge(metric, **labels).set(3)
        else:
            provider.histogram(metric, **labels).observe(3)
    return registry


def samples(families: Iterable[Family]) -> set[str]:
    return {sample.name for family in families for sample in family.samples}


@in_virtual_time
async def test_prometheus_reads_every_metric() -> None:
    async with metrics_of(registry_with(ALL)) as port:
        found = await fetch(port, "/metrics")
        assert found.headers["content-type"].startswith("text/plain")
        names = samples(parse_text(found.text))
        assert {f"{metric.name}{'_bucket' if metric.kind == 'histogram' else ''}" for metric in ALL} <= names


@in_virtual_time
async def test_a_client_that_accepts_openmetrics_gets_it() -> None:
    async with metrics_of(registry_with(ALL)) as port:
        found = await fetch(port, "/metrics", accept="application/openmetrics-text;version=1.0.0,*/*;q=0.1")
        assert found.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
        assert "controller_runtime_reconcile_total" in samples(parse_openmetrics(found.text))  # type: ignore[no-untyped-call]
        assert found.text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("identity", False), ("", False)],
)
def test_a_client_that_accepts_compression_gets_it(accepted: str, is_compressed: bool) -> None:
    @in_virtual_time
    async def run() -> None:
        async with metrics_of(registry_with(ALL)) as port:
            plain = await fetch(port, "/metrics")
            found = await fetch(port, "/metrics", accept_encoding=accepted)
            assert ("content-encoding" in found.headers) is is_compressed
            assert (gzip.decompress(found.body) if is_compressed else found.body) == plain.body

    run()


@in_virtual_time
async def test_metrics_can_be_selected_by_name() -> None:
    async with metrics_of(registry_with(ALL)) as port:
        found = await fetch(port, "/metrics?name[]=informer_broken_objects&name[]=informer_relists_total")
        assert samples(parse_text(found.text)) == {
            "informer_broken_objects",
            "informer_relists_total",
        }


@in_virtual_time
async def test_without_metrics_the_response_has_a_remedy() -> None:
    async with metrics_of(None) as port:
        found = await fetch(port, "/metrics")
        assert found.status == 404
        assert "PrometheusMetrics()" in found.text


@in_virtual_time
async def test_the_log_announces_metrics_only_if_there_are_some(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "masthead.controller")
    async with metrics_of(CollectorRegistry()) as port:
        assert caplog.messages == [f"/metrics on port {port}"]
    caplog.clear()
    async with metrics_of(None) as port:
        advice = "no metrics are recorded: give the manager metrics=masthead.metrics.PrometheusMetrics()"
        assert caplog.messages == [f"/metrics on port {port} answers 404: {advice}"]


def test_without_prometheus_client_the_response_names_the_extra() -> None:
    program = """
import asyncio, sys
sys.modules["prometheus_client"] = None
from masthead._controller.probe_server import ProbeServer

async def main():
    async with ProbeServer({}, {}, probe_bind="0", metrics_bind="127.0.0.1:0") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.metrics_port)
        writer.write(b"GET /metrics HTTP/1.0\\r\\n\\r\\n")
        print((await reader.read()).decode())
        writer.close()

asyncio.run(main())
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "404 Not Found" in run.stdout
    assert "pip install 'masthead-k8s[metrics]'" in run.stdout


class HangingCollector:
    """A custom collector that hangs."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.calls = 0

    def describe(self) -> list[Family]:
        return []

    def collect(self) -> list[Family]:
        self.calls += 1
        self.release.wait(30)
        return []


async def test_a_collector_that_hangs_costs_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masthead._endpoint.http_server._PROBE_LIMITS", ServerLimits(handler_timeout=0.05))
    registry = CollectorRegistry()
    Counter("own", "Own.", registry=registry)
    collector = HangingCollector()
    registry.register(collector)
    async with metrics_of(registry) as port:
        found = await asyncio.gather(*(fetch(port, "/metrics") for _ in range(5)))
        assert {response.status for response in found} == {503}
        assert "an earlier one has not ended" in (await fetch(port, "/metrics")).text
        assert collector.calls == 1
        collector.release.set()
        async with asyncio.timeout(30):
            while (await fetch(port, "/metrics")).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0)


async def test_many_scrapes_at_once_do_not_queue_up() -> None:
    registry = CollectorRegistry()
    collector = HangingCollector()
    registry.register(collector)
    async with metrics_of(registry) as port:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(fetch(port, "/metrics")) for _ in range(20)]
            async with asyncio.timeout(30):
                while sum(task.done() for task in tasks) < 15:  # noqa: ASYNC110
                    await asyncio.sleep(0)
            collector.release.set()
        assert sorted(task.result().status for task in tasks) == [200] * 5 + [503] * 15


class BrokenCollector(HangingCollector):
    def collect(self) -> list[Family]:
        raise ZeroDivisionError


@in_virtual_time
async def test_a_collector_that_raises_is_a_500() -> None:
    registry = CollectorRegistry()
    registry.register(BrokenCollector())
    async with metrics_of(registry) as port:
        assert (await fetch(port, "/metrics")).status == 500
