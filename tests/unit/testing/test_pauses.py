"""Workers and informers that a test pauses, and the order of keys."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError
from masthead.testing import BlockingEnvironment, Environment, in_virtual_time

if TYPE_CHECKING:
    from masthead.aio.cache import SharedInformer
    from masthead.testing import Replica

NAMES = ["a", "b", "c", "d"]


def copies(seen: list[str] | None = None, workers: int = 1) -> masthead.Manager:
    app = masthead.Manager("copies")

    @app.controller(Secret, owns=[ConfigMap], workers=workers)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        if seen is not None:
            seen.append(secret.metadata.name)
        await ctx.apply(ConfigMap.new(secret.metadata.name, data={"version": secret.metadata.resource_version}))

    return app


def cache_of(replica: Replica) -> SharedInformer[Secret]:
    return next(informer for where, informer in replica.caches() if where.resource.resource == "secrets")


@in_virtual_time
async def test_paused_workers_start_nothing_and_reconcile_the_newest_state_afterwards() -> None:
    async with Environment(copies) as env:
        (replica,) = env.replicas
        secrets = env.client.core_v1.secrets("default")
        await env.wait_for_idle()
        replica.pause_workers()
        for name in NAMES:
            await secrets.create(Secret.new(name))
        await secrets.delete("a")
        await env.wait_for_idle()
        await env.advance(3600)
        assert env.writes == []
        assert [secret.metadata.name for secret in cache_of(replica).indexer.list()] == NAMES[1:]
        replica.resume_workers()
        await env.wait_for_idle()
        assert sorted(env.writes) == [f"apply configmaps default/{name}" for name in NAMES[1:]]


@in_virtual_time
async def test_a_running_reconcile_finishes_when_workers_pause() -> None:
    app, steps = masthead.Manager("slow"), list[str]()

    @app.controller(Secret, workers=2)
    async def reconcile(_ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> masthead.controller.Result:
        steps.append(f"begin {secret.metadata.name}")
        await asyncio.sleep(10)
        steps.append(f"end {secret.metadata.name}")
        return masthead.controller.Result(requeue_after=5)

    async with Environment(app, objects=[Secret.new("a", namespace="default")]) as env:
        await env.advance(1)
        env.replicas[0].pause_workers()
        await env.advance(60)
        await env.wait_for_idle()
        assert steps == ["begin a", "end a"]
        env.replicas[0].resume_workers()
        await env.advance(1)
        assert steps == ["begin a", "end a", "begin a"]
        env.replicas[0].pause_workers()


@in_virtual_time
async def test_a_paused_replica_stops_without_delay() -> None:
    async with Environment(copies, objects=[Secret.new("a", namespace="default")]) as env:
        (replica,) = env.replicas
        replica.pause_workers()
        replica.pause_informer()
        await env.client.core_v1.secrets("default").create(Secret.new("b"))
        await env.wait_for_idle()
        began = env.now
        await replica.stop()
        assert env.now == began


@in_virtual_time
async def test_the_next_leader_does_not_work_while_its_workers_pause() -> None:
    make = lambda: copies()  # noqa: E731
    overrides = {"leader_election": True, "leader_election_id": "copies", "leader_election_namespace": "default"}
    async with Environment(make, make, **overrides) as env:  # type: ignore[arg-type]
        await env.wait_for_idle()
        leader, standby = env.replicas
        standby.pause_workers()
        await leader.stop()
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert (standby.is_leading, env.writes) == (True, [])
        standby.resume_workers()
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]


@in_virtual_time
async def test_a_paused_informer_shows_the_past_and_loses_nothing() -> None:
    events: list[str] = []
    async with Environment(copies) as env:
        (replica,) = env.replicas
        informer = cache_of(replica)
        informer.add_event_handler(
            on_add=lambda obj: events.append(f"add {obj.metadata.name}"),
            on_delete=lambda obj: events.append(f"delete {obj.metadata.name}"),
        )
        secrets = env.client.core_v1.secrets("default")
        await env.wait_for_idle()
        replica.pause_informer(Secret)
        for name in NAMES:
            await secrets.create(Secret.new(name))
        await secrets.delete("a")
        await env.wait_for_idle()
        await env.advance(3600)  # longer than any watch
        assert (events, len(informer.indexer), env.writes) == ([], 0, [])
        replica.resume_informer("secrets")
        await env.wait_for_idle()
        assert sorted(event for event in events if not event.endswith(" a")) == ["add b", "add c", "add d"]
        assert len(informer.indexer) == 3
        assert sorted(env.writes) == [f"apply configmaps default/{name}" for name in NAMES[1:]]


@in_virtual_time
async def test_a_short_pause_of_an_informer_delivers_every_event_in_order() -> None:
    events: list[str] = []
    async with Environment(copies) as env:
        (replica,) = env.replicas
        cache_of(replica).add_event_handler(
            on_add=lambda obj: events.append(f"add {obj.metadata.name}"),
            on_delete=lambda obj: events.append(f"delete {obj.metadata.name}"),
        )
        await env.wait_for_idle()
        replica.pause_informer(Secret)
        secrets = env.client.core_v1.secrets("default")
        for name in NAMES:
            await secrets.create(Secret.new(name))
            await secrets.delete(name)
        await env.wait_for_idle()
        assert events == []
        replica.resume_informer()
        await env.wait_for_idle()
        assert events == [f"{verb} {name}" for name in NAMES for verb in ("add", "delete")]


@in_virtual_time
async def test_a_reconcile_whose_writes_a_paused_informer_hides_is_not_pending() -> None:
    async with Environment(copies) as env:
        (replica,) = env.replicas
        await env.wait_for_idle()
        replica.pause_informer(ConfigMap)
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]
        replica.resume_informer(ConfigMap)
        await env.wait_for_idle()


@in_virtual_time
async def test_a_kind_without_a_cache_cannot_be_paused() -> None:
    async with Environment(copies) as env:
        with pytest.raises(ArgumentError, match=r"no cache of pods; it has those of configmaps, secrets"):
            env.replicas[0].pause_informer("pods")


@pytest.mark.asyncio
async def test_pauses_work_in_real_time() -> None:
    async with Environment(copies) as env:
        (replica,) = env.replicas
        replica.pause_workers()
        await env.client.core_v1.secrets("default").create(Secret.new("a"))
        await env.wait_for_idle()
        assert env.writes == []
        replica.pause_informer()
        replica.resume_workers()
        await env.wait_for_idle()
        await env.client.core_v1.secrets("default").create(Secret.new("b"))
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]
        replica.resume_informer()
        await env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a", "apply configmaps default/b"]


def test_a_blocking_test_pauses_too() -> None:
    with BlockingEnvironment() as env:
        replica = env.start(copies)
        replica.pause_workers()
        replica.pause_informer(Secret)
        env.client.core_v1.secrets("default").create(Secret.new("a"))
        env.wait_for_idle()
        assert env.writes == []
        replica.resume_informer(Secret)
        replica.resume_workers()
        env.wait_for_idle()
        assert env.writes == ["apply configmaps default/a"]


def order_of(order: str, seed: int = 0) -> list[str]:
    seen: list[str] = []

    @in_virtual_time
    async def test() -> None:
        objects = [Secret.new(name, namespace="default") for name in NAMES]
        make = lambda: copies(seen, workers=1)  # noqa: E731
        async with Environment(make, key_order=order, seed=seed) as env:  # type: ignore[arg-type]
            (replica,) = env.replicas
            replica.pause_workers()
            for secret in objects:
                await env.client.core_v1.secrets("default").create(secret)
            await env.wait_for_idle()
            replica.resume_workers()
            await env.wait_for_idle()

    test()
    return list(dict.fromkeys(seen))


def test_keys_are_taken_in_the_order_that_a_test_asks_for() -> None:
    assert order_of("fifo") == NAMES
    assert order_of("lifo") == NAMES[::-1]
    assert order_of("random", 1) == order_of("random", 1)
    assert len({tuple(order_of("random", seed)) for seed in range(4)}) > 1


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ArgumentError, match="key_order is one of fifo, lifo, random"):
        Environment(key_order="sorted")  # type: ignore[arg-type]
