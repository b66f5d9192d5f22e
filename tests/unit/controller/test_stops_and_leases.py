"""Managers with a lease stop, even if their reconciles ignore cancellations, and never act without the lease."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead._controller.main_loop import run_main
from masthead.api.core.v1 import ConfigMap
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OBJECTS = [ConfigMap.new("one", namespace="default", labels={"test": "1"})]
REPLICAS = pytest.mark.parametrize("replicas", [{"leader_election": "stuck"}, {"sharding": "stuck"}])


class Stubborn:
    """A reconciler that ignores its cancellation, and writes on demand.

    Attributes:
        running: The objects in reconciles.
        over: Ends the reconciles.
        writes: Demands to write.
        refused: Errors of rejected writes.
        client: The client for writes; the manager's is closed with the manager.
    """

    def __init__(self) -> None:
        self.running: list[str] = []
        self.over = asyncio.Event()
        self.writes = asyncio.Semaphore(0)
        self.refused: list[str] = []
        self.client: masthead.aio.Client | None = None

    async def reconcile(self, ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        self.running.append(ctx.request.name)
        await self.go_on(ctx.client)

    async def go_on(self, client: masthead.aio.Client) -> None:
        while not self.over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.writes.acquire()
                try:
                    await (self.client or client).core_v1.config_maps("default").create(ConfigMap.new("late"))
                except masthead.errors.ClosedError as error:
                    self.refused.append(str(error))

    def end(self) -> None:
        self.over.set()
        self.writes.release()


def add_stubborn_controller(app: masthead.Manager) -> Stubborn:
    """Add a controller whose reconciles ignore their cancellation."""
    stubborn = Stubborn()
    app.controller(ConfigMap, label_selector="test=1")(stubborn.reconcile)
    return stubborn


@REPLICAS
def test_an_abandoned_reconcile_writes_nothing_and_does_not_hold_the_lease(
    replicas: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = masthead.Manager("stuck", **replicas)
    stubborn = add_stubborn_controller(app)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            first = await env.start(app, "first")
            await env.advance(60)
            assert stubborn.running == ["one"]
            await env.start(app, "second")
            stubborn.client = env.client
            await first.stop()
            stubborn.writes.release()
            await env.advance(5)
            assert stubborn.running == ["one", "one"]
            assert len(stubborn.refused) == 1
            stubborn.over.set()
            stubborn.writes.release()
            stubborn.writes.release()
            await env.wait_for_idle()

    play()

    assert "create configmaps default/late: not sent, because the manager has stopped" in stubborn.refused[0]
    assert "are abandoned: configmaps default/one (" in caplog.text
    assert "test_stops_and_leases.py:" in caplog.text


@REPLICAS
def test_calls_of_an_abandoned_reconcile_fail_with_an_explanation(
    replicas: dict[str, Any],
) -> None:
    app = masthead.Manager("stuck", **replicas)
    stubborn = add_stubborn_controller(app)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            replica = await env.start(app)
            await env.advance(60)
            await replica.stop()
            stubborn.end()
            await env.advance(1)

    play()

    assert len(stubborn.refused) == 1
    assert "not sent, because the manager has stopped this work" in stubborn.refused[0]


@REPLICAS
def test_a_manager_with_default_settings_stops_before_the_kubelet_kills_it(
    replicas: dict[str, Any],
) -> None:
    app = masthead.Manager("stuck", **replicas)
    stubborn = add_stubborn_controller(app)
    patience = inspect.signature(run_main).parameters["patience"].default
    grace_period = 30

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            replica = await env.start(app)
            await env.advance(60)
            asked = now()
            await replica.stop()
            assert app.options.graceful_timeout < now() - asked < grace_period - patience - 1
            stubborn.end()

    play()


def test_calls_without_the_lease_are_rejected() -> None:
    app = masthead.Manager("stuck", leader_election="stuck")
    stubborn = add_stubborn_controller(app)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            await env.start(app, "first")
            await env.advance(60)
            fault = env.server.faults.fail(500, resource="leases", times=None)
            await env.advance(11)
            stubborn.writes.release()
            await env.advance(1)
            assert len(stubborn.refused) == 1
            fault.remove()
            stubborn.end()

    play()


@REPLICAS
def test_a_manager_ends_although_a_reconcile_ignored_the_loss_of_its_lease(
    replicas: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = masthead.Manager("stuck", **replicas)
    stubborn = add_stubborn_controller(app)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            first = await env.start(app, "first")
            await env.advance(60)
            env.server.faults.fail(500, resource="leases", times=None)
            await env.advance(60)
            async with asyncio.timeout(60):
                await first.stop()
            stubborn.end()

    play()

    assert "are abandoned: configmaps default/one" in caplog.text
    assert "the work failed after its leadership was lost" not in caplog.text


@in_virtual_time
async def test_a_stopping_manager_does_not_campaign_again() -> None:
    running = asyncio.Event()

    async def reconcile(_ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        running.set()
        await asyncio.sleep(300)

    def app() -> masthead.Manager:
        made = masthead.Manager("slow", leader_election="slow")
        made.controller(ConfigMap, label_selector="test=1")(reconcile)
        return made

    async with Environment(objects=OBJECTS) as env:
        first = await env.start(app, "first", graceful_timeout=600)
        await running.wait()
        fault = env.server.faults.fail(500, verb="update", resource="leases", times=None)
        stopping = asyncio.get_running_loop().create_task(first.stop())
        await env.advance(60)
        # Another replica holds the lease for good, so a campaign would never end.
        fault.remove()
        await env.start(app, "second")
        await env.advance(60)
        assert stopping.done()
        await stopping


def test_a_stop_does_not_wait_for_sources_and_timers_that_ignore_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("stuck", leader_election="stuck")
    source, timer = Stubborn(), Stubborn()
    reconciled: list[str] = []

    @app.controller(ConfigMap, label_selector="test=1")
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        reconciled.append(ctx.request.name)

    @app.source
    async def hooks(client: masthead.aio.Client) -> AsyncIterator[str]:
        yield "default/one"
        await source.go_on(client)

    @app.timer(1)
    async def report(client: masthead.aio.Client) -> None:
        await timer.go_on(client)

    @in_virtual_time
    async def play() -> None:
        async with Environment(objects=OBJECTS) as env:
            replica = await env.start(app, "first")
            await env.advance(60)
            async with asyncio.timeout(40):
                await replica.stop()
            lease = await env.client.dynamic("coordination.k8s.io/v1", "leases", namespace="default").get("stuck")
            assert lease["spec"]["holderIdentity"] == ""
            source.end()
            timer.end()

    play()

    [abandoned] = [text for text in caplog.messages if "abandoned" in text]
    assert "hooks, timer " in abandoned
    assert "report (" in abandoned
    assert reconciled
