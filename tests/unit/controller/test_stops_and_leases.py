"""The end of managers that hold a lease: whatever their reconciles do, they end, and keep to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Sequence

OBJECTS = [ConfigMap.new("one", namespace="default", labels={"test": "1"})]
REPLICAS = pytest.mark.parametrize("replicas", [{"leader_election": "stuck"}, {"sharding": "stuck"}])


def add_stubborn_controller(app: masthead.Manager) -> tuple[Sequence[str], asyncio.Event]:
    """Add a controller whose reconciles go on when they are cancelled; returns what it reconciles, and what ends it."""
    running: list[str] = []
    over = asyncio.Event()

    @app.controller(ConfigMap, label_selector="test=1")
    async def reconcile(ctx: masthead.aio.Context[ConfigMap], _: ConfigMap) -> None:
        running.append(ctx.request.name)
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                ctx.log.info("never mind")

    return running, over


@REPLICAS
def test_a_reconcile_that_goes_on_after_the_stop_keeps_its_lease(
    replicas: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = masthead.Manager("stuck", **replicas)
    running, over = add_stubborn_controller(app)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            first = await env.start(app, "first")
            await env.advance(60)
            assert running == ["one"]
            await env.start(app, "second")
            await first.stop()
            await env.advance(5)
            assert running == ["one"]
            await env.advance(60)  # the lease expires
            assert running == ["one", "one"]
            over.set()
            await env.settle()

    play()

    assert "are abandoned: configmaps default/one" in caplog.text
    assert "not released, so that it has to expire: work of it goes on" in caplog.text


@REPLICAS
def test_a_manager_ends_whose_reconcile_has_not_ended_with_its_lease(
    replicas: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = masthead.Manager("stuck", **replicas)
    _, over = add_stubborn_controller(app)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            first = await env.start(app, "first")
            await env.advance(60)
            env.server.faults.fail(500, resource="leases", times=None)
            await env.advance(60)
            async with asyncio.timeout(60):
                await first.stop()
            over.set()

    play()

    assert "are abandoned: configmaps default/one" in caplog.text
    assert "the work failed after its leadership was lost" not in caplog.text


@in_virtual_time
async def test_a_manager_that_loses_its_lease_while_it_stops_does_not_campaign_again() -> None:
    app = masthead.Manager("slow", leader_election="slow")
    running = asyncio.Event()

    @app.controller(ConfigMap, label_selector="test=1")
    async def reconcile(_ctx: masthead.aio.Context[ConfigMap], _: ConfigMap) -> None:
        running.set()
        await asyncio.sleep(300)

    async with Environment(objects=OBJECTS) as env:
        first = await env.start(app, "first", graceful_timeout=600)
        await running.wait()
        fault = env.server.faults.fail(500, verb="update", resource="leases", times=None)
        stopping = asyncio.get_running_loop().create_task(first.stop())
        await env.advance(60)
        # Another replica has it, and keeps it: whoever campaigned for it would never end.
        fault.remove()
        await env.start(app, "second")
        await env.advance(60)
        assert stopping.done()
        await stopping
