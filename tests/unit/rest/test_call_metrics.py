"""What calls count: every request, its code and its duration, under client-go's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from tests.unit.rest.scripted import FakeResponse, client, create, get, retry_later, watch

from masthead._rest.settings import RestSettings
from masthead.errors import ConnectError, NotFoundError
from masthead.metrics import NO_METRICS, Counter, Metric, NoMetrics, PrometheusMetrics
from masthead.testing.virtual_time import in_virtual_time

if TYPE_CHECKING:
    from tests.unit.rest.scripted import FakeTransport

    from masthead._rest.client import RestClient

HOST = "the API server"


def counting(*script: FakeResponse | Exception) -> tuple[RestClient, FakeTransport, CollectorRegistry]:
    registry = CollectorRegistry()
    rest, network = client(*script, settings=RestSettings(metrics=PrometheusMetrics(registry)))
    return rest, network, registry


def requests(registry: CollectorRegistry, method: str, code: str) -> float | None:
    labels = {"method": method, "code": code, "host": HOST}
    return registry.get_sample_value("rest_client_requests_total", labels)


def duration(registry: CollectorRegistry, verb: str) -> tuple[float | None, float | None]:
    name, labels = "rest_client_request_duration_seconds", {"verb": verb, "host": HOST}
    return registry.get_sample_value(f"{name}_count", labels), registry.get_sample_value(f"{name}_sum", labels)


@in_virtual_time
async def test_each_request_is_counted_with_its_code_and_time() -> None:
    rest, _, registry = counting(
        FakeResponse(takes=2), retry_later(3), FakeResponse(takes=1), FakeResponse(201), FakeResponse(404)
    )
    await rest.call(get())
    await rest.call(get())
    await rest.call(create())
    with pytest.raises(NotFoundError):
        await rest.call(get())
    assert requests(registry, "GET", "200") == 2
    assert requests(registry, "GET", "429") == 1
    assert requests(registry, "GET", "404") == 1
    assert requests(registry, "POST", "201") == 1
    assert duration(registry, "GET") == (4, 3)
    assert duration(registry, "POST") == (1, 0)


@in_virtual_time
async def test_a_request_without_a_response_is_counted_as_an_error() -> None:
    rest, _, registry = counting(ConnectError("refused"))
    with pytest.raises(ConnectError):
        await rest.call(get(attempts=1))
    assert requests(registry, "GET", "<error>") == 1


@in_virtual_time
async def test_a_stream_is_counted_when_it_begins() -> None:
    rest, _, registry = counting(FakeResponse(takes=2))
    (await rest.open(watch())).close()
    assert requests(registry, "GET", "200") == 1
    assert duration(registry, "GET") == (1, 2)


class BrokenMetrics(NoMetrics):
    """A provider that raises."""

    def counter(self, metric: Metric, **labels: str) -> Counter:
        raise RuntimeError(f"no {metric.name} for {labels}")


@in_virtual_time
async def test_metrics_that_fail_cost_no_call_and_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    rest, _ = client(FakeResponse(), FakeResponse(), settings=RestSettings(metrics=BrokenMetrics()))
    for _ in range(2):
        assert (await rest.call(get())).status == 200
    assert caplog.text.count("metrics of calls to the API server failed") == 1


@in_virtual_time
async def test_without_metrics_nothing_is_measured() -> None:
    rest, _ = client(FakeResponse(), settings=RestSettings(metrics=NO_METRICS))
    assert rest._sender._metrics is None
    assert (await rest.call(get())).status == 200
