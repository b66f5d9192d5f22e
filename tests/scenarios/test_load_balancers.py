"""Load balancers and networks that fail, between an informer, a watch or a log and the server; in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from benchmarks.recovery.proxy import FaultyProxy
from tests.unit.cache.clusters import turns_until

import masthead.aio
import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.server import Server

pytestmark = pytest.mark.guarantee(7)

IDLE_TIMEOUTS = pytest.mark.parametrize("idle_timeout", [5.0, 10.0, 20.0, 50.0])


@dataclass
class Route:
    """A server, and clients of it: one through the proxy, and one past it."""

    server: Server
    proxy: FaultyProxy
    client: masthead.aio.Client
    direct: masthead.aio.Client

    async def write(self, name: str) -> str:
        """Create a ConfigMap, past the proxy."""
        made = await self.direct.core_v1.config_maps("default").create(ConfigMap.new(name))
        return made.metadata.resource_version


@contextlib.asynccontextmanager
async def open_route(idle_timeout: float | None = None) -> AsyncIterator[Route]:
    async with masthead.server.run(token=None, bootstrap=False, clock=LoopClock()) as server:
        port = urlsplit(server.url).port
        assert port is not None
        async with (
            FaultyProxy(port, idle_timeout=idle_timeout).running() as proxy,
            masthead.aio.Client(Config(server=f"http://127.0.0.1:{proxy.port}")) as client,
            masthead.aio.Client(Config(server=server.url)) as direct,
        ):
            yield Route(server, proxy, client, direct)


@IDLE_TIMEOUTS
@in_virtual_time
async def test_an_informer_behind_an_idle_timeout_is_blind_for_less_than_two_percent(
    idle_timeout: float,
) -> None:
    async with open_route(idle_timeout) as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            route.proxy.coverage.restart()
            for number in range(20):
                await asyncio.sleep(23.7)
                version, began = await route.write(f"map-{number}"), now()
                await informer.wait_for_version(version, 10)
                assert now() - began < 0.5
            assert route.proxy.coverage.blind_percent <= 2.0
            # No more requests than closed connections need.
            assert route.proxy.coverage.requests <= 20 * 23.7 / min(idle_timeout, 19) + 20
            assert informer.health.relists == 0


@IDLE_TIMEOUTS
@in_virtual_time
async def test_a_watch_behind_an_idle_timeout_is_blind_for_less_than_two_percent(idle_timeout: float) -> None:
    async with open_route(idle_timeout) as route:
        maps = route.client.core_v1.config_maps("default")
        version = (await maps.list()).metadata.resource_version
        written: dict[str, float] = {}

        async def write() -> None:
            await asyncio.sleep(5)
            route.proxy.coverage.restart()
            for number in range(5):
                await asyncio.sleep(47.3)
                await route.write(f"map-{number}")
                written[f"map-{number}"] = now()

        async with maps.watch(resource_version=version) as events, asyncio.TaskGroup() as tasks:
            tasks.create_task(write())
            for number in range(5):
                event = await anext(events)
                assert event.object.metadata.name == f"map-{number}"
                assert now() - written.get(f"map-{number}", now()) < 0.5
            assert route.proxy.coverage.blind_percent <= 2.0


@in_virtual_time
async def test_a_quiet_log_behind_an_idle_timeout_is_requested_again_at_once() -> None:
    async with open_route(10.0) as route:
        pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app", "image": "app"}]}}
        await route.direct.core_v1.pods("default").create(pod)
        route.server.kubelet.start("web")
        stream = route.client.core_v1.pods("default").logs("web", follow=True)
        written: dict[str, float] = {}

        async def write() -> None:
            for number in range(5):
                await asyncio.sleep(63.7)
                written[f"line {number}"] = now()
                route.server.kubelet.log("web").print(f"line {number}")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(write())
            for number in range(5):
                assert await anext(stream) == f"line {number}"
                assert now() - written[f"line {number}"] < 0.5
        await stream.close()


@in_virtual_time
async def test_a_silent_connection_costs_less_than_thirty_seconds_whenever_it_falls_silent() -> None:
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            for number in range(8):
                await asyncio.sleep(31.3)
                route.proxy.silence()
                version, began = await route.write(f"map-{number}"), now()
                await informer.wait_for_version(version, 60)
                assert now() - began <= 30
            assert informer.health.relists == 0


@in_virtual_time
async def test_a_server_that_accepts_watches_and_drops_them_at_once_is_asked_ever_more_rarely() -> None:
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            route.proxy.cut()
            route.server.faults.drop_watch(after=0, times=None, resource="configmaps")
            opened = len(route.server.requests)
            await asyncio.sleep(600)
            moments = len(route.server.requests) - opened
            assert moments < 120  # about one in ten seconds, the checks of the server included


@in_virtual_time
async def test_an_outage_behind_a_proxy_that_accepts_and_closes_ends_within_two_seconds() -> None:
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            for outage, number in itertools.product([1.0, 5.0, 60.0], range(2)):
                await asyncio.sleep(10)
                with route.proxy.without_server():
                    await asyncio.sleep(outage)
                    version = await route.write(f"map-{outage:g}-{number}")
                began = now()
                await informer.wait_for_version(version, 10)
                assert now() - began <= 2
            await turns_until(lambda: informer.health.is_connected)
            assert informer.health.relists == 0


@pytest.mark.parametrize("blackout", [28.0, 29.0, 31.0, 34.0, 42.0, 55.0, 120.0])
@in_virtual_time
async def test_after_a_blackout_of_all_connections_an_informer_is_current_within_seven_seconds(
    blackout: float,
) -> None:
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            await asyncio.sleep(1)
            await route.client.core_v1.config_maps("default").list()  # leaves an idle connection behind
            with route.proxy.blackout():
                await asyncio.sleep(blackout)
            version, began = await route.write("map"), now()
            await informer.wait_for_version(version, 60)
            assert now() - began <= 7
            assert informer.health.relists == 0


@pytest.mark.parametrize("blackout", [28.0, 37.0, 45.0, 120.0])
@in_virtual_time
async def test_after_a_blackout_an_empty_informer_is_current_within_ten_seconds(blackout: float) -> None:
    async with open_route() as route:
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            await asyncio.sleep(1)
            with route.proxy.blackout():
                await asyncio.sleep(blackout)
            version, began = await route.write("map"), now()
            await informer.wait_for_version(version, 60)
            assert now() - began <= 10


@in_virtual_time
async def test_a_blackout_that_ends_early_costs_no_more_than_a_silent_connection() -> None:
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            for number, blackout in enumerate([0.5, 5.0, 11.0, 17.0, 24.0, 27.0]):
                await asyncio.sleep(31.3)
                began = now()
                with route.proxy.blackout():
                    await asyncio.sleep(blackout)
                version = await route.write(f"map-{number}")
                await informer.wait_for_version(version, 60)
                assert now() - began <= max(30, blackout + 7)


@pytest.mark.parametrize("blackout", [3.0, 12.0, 40.0, 100.0])
@in_virtual_time
async def test_an_informer_that_starts_during_a_blackout_syncs_within_ten_seconds_of_its_end(
    blackout: float,
) -> None:
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with contextlib.AsyncExitStack() as stack:
            with route.proxy.blackout():
                await stack.enter_async_context(informer)
                await asyncio.sleep(blackout)
            began = now()
            await informer.wait_for_cache_sync(60)
            assert now() - began <= 10


@in_virtual_time
async def test_health_and_log_report_a_server_that_does_not_answer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "masthead.cache")
    async with open_route() as route:
        await route.write("known")
        informer = masthead.aio.SharedInformer(route.client.core_v1.config_maps("default"))
        async with informer:
            await informer.wait_for_cache_sync(10)
            await asyncio.sleep(1)
            before = informer.health
            with route.proxy.blackout():
                await asyncio.sleep(34)
                late, lines = informer.health, caplog.text
                await asyncio.sleep(60)
                later = informer.health
            await asyncio.sleep(10)
            after = informer.health

    states = [(health.is_healthy, health.is_connected) for health in (before, late, later, after)]
    assert states == [(True, True), (False, False), (False, False), (True, True)]
    assert "has not answered for 5 s" in late.last_error
    assert "no answer for 5 s; asking again on another connection" in lines
    assert "all is well again" in caplog.text
