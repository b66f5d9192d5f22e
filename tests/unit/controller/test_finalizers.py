"""``ctx.finalize``: no object is removed before its cleanup has succeeded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap
from masthead.meta.v1 import ObjectMeta
from masthead.testing import BlockingEnvironment, Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.testing import Replica

FINALIZER = "example.com/bucket"


class Buckets:
    """Resources of an operator outside of the cluster."""

    def __init__(self) -> None:
        self.there: set[str] = set()
        self.cleanups: list[str] = []

    def remove(self, name: str) -> None:
        self.cleanups.append(name)
        self.there.discard(name)


def asynchronous(buckets: Buckets) -> masthead.Manager:
    app = masthead.Manager("buckets", leader_election="buckets")

    @app.controller(ConfigMap, finalizer=FINALIZER)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        if not await ctx.finalize(lambda: buckets.remove(obj.metadata.name)):
            buckets.there.add(obj.metadata.name)

    return app


def plain(buckets: Buckets) -> masthead.Manager:
    app = masthead.Manager("buckets", leader_election="buckets")

    @app.controller(ConfigMap, finalizer=FINALIZER)
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        if not ctx.finalize(lambda: buckets.remove(obj.metadata.name)):
            buckets.there.add(obj.metadata.name)

    return app


@pytest.mark.slow
@pytest.mark.parametrize("make", [asynchronous, plain])
@pytest.mark.parametrize("seen", [1, 2, 3], ids=["nothing", "creation", "finalizer"])
@in_virtual_time
async def test_a_replica_whose_cache_is_behind_cleans_up_as_well(
    make: Callable[[Buckets], masthead.Manager], seen: int
) -> None:
    buckets = Buckets()
    app = make(buckets)
    async with Environment() as env:
        first = await env.start(app, "first")
        await env.wait_for_idle()
        env.server.faults.silence_watch(after=seen, resource="configmaps")
        second = await env.start(app, "second")
        await asyncio.sleep(1)
        maps = env.client.core_v1.config_maps("default")
        await maps.create(ConfigMap.new("a"))
        await asyncio.sleep(5)
        assert buckets.there == {"a"}
        await first.crash()
        await maps.delete("a")
        await leads(env, second)
        await env.advance(300)
        assert (buckets.there, buckets.cleanups, list(await maps.list())) == (set(), ["a"], [])


async def leads(env: Environment, replica: Replica) -> None:
    await env.advance(60)
    assert replica.is_leading


def test_a_failing_removal_of_the_finalizer_does_not_repeat_the_cleanup() -> None:
    buckets = Buckets()
    with BlockingEnvironment(plain(buckets), leader_election=False) as env:
        maps = env.client.core_v1.config_maps("default")
        maps.create(ConfigMap.new("a"))
        env.wait_for_idle()
        fault = env.server.faults.fail(503, verb="patch", resource="configmaps", times=2)
        maps.delete("a")
        env.wait_for_idle(retries_within=60)
        assert (fault.hits, buckets.there, buckets.cleanups, list(maps.list())) == (2, set(), ["a"], [])


def forgetting(*, is_async: bool) -> masthead.Manager:
    app = masthead.Manager("forgetful")

    if is_async:

        @app.controller(ConfigMap, finalizer=FINALIZER)
        async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None: ...
    else:

        @app.controller(ConfigMap, finalizer=FINALIZER)
        def reconcile_in_thread(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None: ...

    return app


@pytest.mark.parametrize("is_async", [True, False])
@in_virtual_time
async def test_a_declared_finalizer_without_a_call_of_finalize_is_logged_once(
    is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    objects = [ConfigMap.new(name, namespace="default") for name in "ab"]
    async with Environment(forgetting(is_async=is_async), objects=objects) as env:
        await env.wait_for_idle()
    [warning] = [record.getMessage() for record in caplog.records if "ctx.finalize" in record.getMessage()]
    assert "declares finalizer='example.com/bucket', but the reconcile of default/a returned without calling" in warning
    assert "deleted without a cleanup" in warning
    assert f"`if {'await ' if is_async else ''}ctx.finalize(cleanup): return`" in warning


@in_virtual_time
async def test_an_object_with_a_finalizer_that_nobody_removes_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    guarded = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", finalizers=[FINALIZER]))
    async with Environment(forgetting(is_async=True), objects=[guarded]) as env:
        await env.wait_for_idle()
    assert "waits for the finalizer when it is deleted, and never goes away" in caplog.text


@in_virtual_time
async def test_reconciles_that_raise_or_have_nothing_to_guard_need_no_finalize(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("careful")
    buckets = Buckets()

    @app.controller(ConfigMap, finalizer=FINALIZER)
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None:
        if obj.metadata.deletion_timestamp is not None and FINALIZER not in obj.metadata.finalizers:
            return
        if ctx.attempt == 0:
            raise masthead.TemporaryError("not yet", delay=1)
        if await ctx.finalize(lambda: buckets.remove(obj.metadata.name)):
            return

    leaving = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", finalizers=["example.com/other"]))
    async with Environment(objects=[leaving]) as env:
        await env.client.core_v1.config_maps("default").delete("a")
        await env.start(app)
        await env.client.core_v1.config_maps("default").create(ConfigMap.new("b"))
        await env.wait_for_idle(retries_within=60)
    assert "without calling" not in caplog.text
