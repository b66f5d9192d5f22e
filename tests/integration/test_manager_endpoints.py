"""The HTTP endpoints of a running manager, against the embedded server in virtual time."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.controller.probing import fetch

import masthead
import masthead.server
from masthead import aio
from masthead.api.core.v1 import ConfigMap
from masthead.meta.v1 import ObjectMeta
from masthead.testing.virtual_time import LoopClock, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from masthead._controller.runtime import ManagerRuntime

ON = "127.0.0.1:0"


async def do_nothing(ctx: aio.ReconcileContext[ConfigMap], settings: ConfigMap) -> None:
    """Reconcile an object that is fine as it is."""


@asynccontextmanager
async def managed(
    app: masthead.Manager, *names: str, **overrides: bool | str
) -> AsyncGenerator[tuple[ManagerRuntime, int]]:
    """A manager beside a server with some objects, and the port of all its endpoints."""
    async with masthead.server.run(clock=LoopClock(), controllers=False, bootstrap=False) as server:
        config = masthead.Config(server=server.url, token=server.token)
        async with aio.Client(config) as client:
            for name in names:
                await client.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name=name)))
            async with app.running(
                client,
                probe_bind=ON,
                metrics_bind=ON,
                debug_bind=ON,
                **overrides,  # type: ignore[arg-type]
            ) as runtime:
                assert runtime.probes.probe_port is not None
                yield runtime, runtime.probes.probe_port


@in_virtual_time
async def test_it_is_ready_when_its_controllers_have_started() -> None:
    app = masthead.Manager("shop")
    app.controller(ConfigMap, name="settings")(do_nothing)
    async with managed(app) as (_, port):
        async with asyncio.timeout(60):
            while (await fetch(port, "/readyz")).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        found = (await fetch(port, "/healthz?verbose")).text
        assert found == "[+]ping ok\n[+]reconciles ok\nhealthz check passed\n"


@in_virtual_time
async def test_own_checks_are_asked_too() -> None:
    app = masthead.Manager("shop")
    app.controller(ConfigMap)(do_nothing)

    @app.health_check("database")
    def check_database() -> None:
        raise ConnectionError("no route to host")

    async with managed(app) as (_, port):
        found = await fetch(port, "/healthz?verbose")
    assert (found.status, found.text.split("\n")[0]) == (500, "[-]database failed: no route to host")


@in_virtual_time
async def test_the_debug_page_shows_what_is_in_flight_what_was_slow_and_what_waits() -> None:
    app = masthead.Manager("shop")
    blocked = asyncio.Event()

    @app.controller(ConfigMap, name="settings", workers=2)
    async def reconcile(ctx: aio.ReconcileContext[ConfigMap], settings: ConfigMap) -> masthead.controller.Result | None:
        del ctx
        if settings.metadata.name == "hangs":
            await blocked.wait()
        if settings.metadata.name == "slow":
            await asyncio.sleep(5)
        if settings.metadata.name == "fails":
            raise ValueError("no: Authorization: Bearer abcdefghijklmn")
        return masthead.controller.Result(requeue_after=3600) if settings.metadata.name == "later" else None

    async with managed(app, "fails", "hangs", "later", "slow") as (_, port):
        await asyncio.sleep(20)
        found = json.loads((await fetch(port, "/debug?format=json")).body)
        page = await fetch(port, "/debug")
        blocked.set()
    assert found["manager"] == {"name": "shop", "leading": True, "namespaces": "all"}
    (controller,) = found["controllers"]
    assert (controller["controller"], controller["workers"], controller["in flight"]) == ("settings", 2, 1)
    assert (controller["success"], controller["requeue_after"]) == (1, 1)
    assert controller["error"] >= 1
    (flight,) = found["in-flight"]
    assert (flight["object"], flight["attempt"]) == ("default/hangs", 1)
    assert 15 < flight["seconds"] <= 20
    assert (found["slowest"][0]["object"], found["slowest"][0]["seconds"]) == ("default/slow", 5)
    (queue,) = found["queues"]
    assert (queue["queue"], queue["processing"], queue["delayed"]) == ("settings", 1, 2)
    (informer,) = found["informers"]
    assert (informer["state"], informer["synced"], informer["objects"]) == ("watching", True, 4)
    assert "default/hangs" in page.text
    (failing,) = found["failing"]
    assert (failing["failing"], failing["failures"]) == ("settings default/fails", controller["error"])
    assert failing["last error"].startswith("ValueError: no: Authorization: Bearer <hidden> at ")
    assert [(delayed["object"], delayed["reasons"][:16]) for delayed in found["delayed"]] == [
        ("default/fails", "retry after Valu"),
        ("default/later", "requeued after 3"),
    ]


@in_virtual_time
async def test_the_debug_page_lists_a_limited_number_of_failures() -> None:
    app = masthead.Manager("shop")

    @app.controller(ConfigMap, name="settings")
    async def reconcile(ctx: aio.ReconcileContext[ConfigMap], settings: ConfigMap) -> None:
        del ctx, settings
        raise ValueError("x" * 10_000)

    async with managed(app, *(f"map-{number}" for number in range(30))) as (_, port):
        await asyncio.sleep(20)
        found = json.loads((await fetch(port, "/debug?format=json")).body)
    assert (len(found["failing"]), len(found["delayed"])) == (20, 20)
    assert max(len(row["last error"]) for row in found["failing"]) <= 1_000


@in_virtual_time
async def test_a_permission_that_lacks_is_named_with_its_verb() -> None:
    app = masthead.Manager("shop")
    app.controller(ConfigMap)(do_nothing)

    async def check() -> None:
        # As the server says it of a service account in a namespace with a long name.
        user = f"system:serviceaccount:{'team-' * 12}a:website-operator"
        raise ConnectionError(
            f'not synced: configmaps (403 Forbidden: configmaps is forbidden: User "{user}" cannot list '
            f'resource "configmaps" in API group "" at the cluster scope; {"grant the permission " * 8})'
        )

    app.health_check("permissions")(check)
    async with managed(app) as (_, port):
        found = await fetch(port, "/healthz?verbose")
    assert 'cannot list resource "configmaps"' in found.text
    assert "left out" not in found.text


@in_virtual_time
async def test_metrics_count_reconciles_the_queue_the_informer_and_calls() -> None:
    registry = CollectorRegistry()
    metrics = masthead.metrics.PrometheusMetrics(registry)
    app = masthead.Manager("shop", metrics=metrics)
    app.controller(ConfigMap, name="settings")(do_nothing)
    async with masthead.server.run(clock=LoopClock(), controllers=False, bootstrap=False) as server:
        config = masthead.Config(server=server.url, token=server.token)
        async with app.running(config, probe_bind="0", metrics_bind=ON) as runtime:
            async with aio.Client(config) as client:
                await client.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="web")))
            await asyncio.sleep(1)
            found = await fetch(runtime.probes.metrics_port, "/metrics")
    values = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(found.text)
        for sample in family.samples
    }
    assert values["controller_runtime_reconcile_total", "settings", "success"] == 1
    assert values["controller_runtime_max_concurrent_reconciles", "settings"] == 1
    assert values["workqueue_adds_total", "settings"] == 1
    assert sum(value for name, value in values.items() if name[0] == "rest_client_requests_total") >= 1
    assert any(name[0] == "reflector_lists_total" for name in values)


@in_virtual_time
async def test_a_port_that_is_taken_is_an_error_that_names_it() -> None:
    app = masthead.Manager("shop")
    app.controller(ConfigMap)(do_nothing)
    async with managed(app) as (runtime, port):
        with pytest.raises(masthead.MastheadError, match=rf"/healthz.*cannot listen on 127\.0\.0\.1:{port}"):
            async with app.running(runtime.client, probe_bind=f"127.0.0.1:{port}", metrics_bind="0"):
                pass
        assert (await fetch(port, "/healthz")).status == 200
