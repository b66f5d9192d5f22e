"""``ctx.finalize``: no object is removed before its cleanup has succeeded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap
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
