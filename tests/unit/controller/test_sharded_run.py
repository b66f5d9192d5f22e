"""Sharded managers: one replica reconciles an object at a time, and no object is lost."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ManagerStateError
from masthead.testing import Environment, in_virtual_time

COUNT = 40
PLACES = ["shop", "billing", "search", "web-front", "data", "team-blue", "monitoring"]
SECRETS = [Secret.new(f"s{index}", namespace=PLACES[index % 7]) for index in range(COUNT)]
NAMESPACES = [
    masthead.Unstructured.from_dict({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}})
    for place in PLACES
]


class Operator:
    """Copies Secrets to ConfigMaps, slowly, and records the replica of every reconcile."""

    def __init__(self, **options: Any) -> None:
        self.app = masthead.Manager("shards", sharding="shards", **options)
        self.running: set[masthead.controller.Request] = set()
        self.done: list[str] = []
        self.overlaps = 0
        self.gone: list[str] = []

        @self.app.controller(Secret, owns=[ConfigMap], workers=2, ignore_own_writes=True)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret | None) -> None:
            if secret is None:
                self.gone.append(ctx.request.name)
                return
            self.overlaps += ctx.request in self.running
            self.running.add(ctx.request)
            try:
                await asyncio.sleep(0.5)
                await ctx.apply(ConfigMap.new(secret.metadata.name, data={"size": str(len(secret.data))}))
                self.done.append(ctx.request.name)
            finally:
                self.running.discard(ctx.request)

    def taken(self) -> list[str]:
        found, self.done = sorted(self.done), []
        return found


NAMES = sorted(secret.metadata.name for secret in SECRETS)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["uid", "namespace"])
def test_objects_move_when_replicas_join_and_leave(by: Any) -> None:
    @in_virtual_time
    async def play() -> None:
        operator = Operator(shard_by=by)
        async with Environment(objects=[*NAMESPACES, *SECRETS]) as env:
            first = await env.start(operator.app, "first")
            await env.advance(30)
            assert operator.taken() == NAMES

            second = await env.start(operator.app, "second")
            await env.advance(30)
            moved = operator.taken()
            caches = [replica.runtime.factory.core_v1.secrets.informer.indexer for replica in (first, second)]
            assert len(moved) == len(caches[1]) > 0
            assert sum(map(len, caches)) == COUNT

            for secret in SECRETS:
                secrets = env.client.core_v1.secrets(secret.metadata.namespace)
                await secrets.patch(secret.metadata.name, masthead.Patch.merge({"data": {"a": "MQ=="}}))
            await env.advance(30)
            assert operator.taken() == NAMES

            await first.stop()
            await env.advance(30)
            assert len(operator.taken()) == COUNT - len(moved)
            assert len(caches[1]) == COUNT
            assert operator.overlaps == 0
            assert operator.gone == []

    play()


@in_virtual_time
async def test_the_objects_of_a_replica_that_crashed_are_taken_over() -> None:
    operator = Operator()
    async with Environment(objects=[*NAMESPACES, *SECRETS]) as env:
        first = await env.start(operator.app, "first")
        await env.start(operator.app, "second")
        await env.advance(5)
        await first.crash()
        operator.running.clear()  # a dead process runs nothing, and has not noted the end of its reconciles
        await env.advance(120)
        assert set(operator.taken()) == set(NAMES)
        assert operator.overlaps == 0


@in_virtual_time
async def test_the_owning_replica_reconciles_a_deletion() -> None:
    operator = Operator()
    async with Environment(objects=[*NAMESPACES, *SECRETS]) as env:
        await env.start(operator.app, "first")
        await env.start(operator.app, "second")
        await env.advance(60)
        for secret in SECRETS:
            await env.client.core_v1.secrets(secret.metadata.namespace).delete(secret.metadata.name)
        await env.advance(60)
        assert sorted(operator.gone) == NAMES


@in_virtual_time
async def test_deletions_that_need_no_reconcile_are_not_remembered() -> None:
    app = masthead.Manager("shards", sharding="shards")

    @app.controller(Secret, finalizer="example.com/shards")
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        await ctx.finalize(lambda: None)

    async with Environment(app, objects=[*NAMESPACES, *SECRETS]) as env:
        await env.wait_for_idle()
        for secret in SECRETS:
            await env.client.core_v1.secrets(secret.metadata.namespace).delete(secret.metadata.name)
        await env.wait_for_idle()
        assert not await env.client.core_v1.secrets(None).list()
        shard = env.replicas[0].runtime.loops["secrets"].requests.shard
        assert shard is not None
        assert not shard.remembered_deletions


@in_virtual_time
async def test_a_cache_is_not_sharded_if_another_controller_needs_all_objects() -> None:
    operator = Operator()

    @operator.app.controller(ConfigMap, reads=[Secret], label_selector="none=1")
    async def other(ctx: masthead.aio.ReconcileContext[ConfigMap]) -> None:
        del ctx

    async with Environment(objects=[*NAMESPACES, *SECRETS]) as env:
        first = await env.start(operator.app, "first")
        await env.advance(60)
        assert operator.taken() == NAMES
        await env.start(operator.app, "second")
        await env.advance(60)
        assert 0 < len(operator.taken()) < COUNT
        assert len(first.runtime.factory.core_v1.secrets.informer.indexer) == COUNT
        assert operator.overlaps == 0


@in_virtual_time
async def test_a_leader_shares_nothing() -> None:
    app = Operator(leader_election="one").app
    async with Environment() as env:
        with pytest.raises(ManagerStateError, match="leader_election or sharding"):
            await env.start(app)


@in_virtual_time
async def test_a_paused_replica_logs_one_line_when_it_joins_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    operator = Operator()
    async with Environment(objects=[*NAMESPACES, *SECRETS], leader_election_namespace="default") as env:
        replica = await env.start(operator.app)
        await env.wait_for_idle()
        replica.pause()
        await env.advance(60)
        replica.resume()
        await env.advance(5)
        assert replica.runtime.member is not None
        assert replica.runtime.member.is_member

    lines = [record.getMessage() for record in caplog.records if record.name == "masthead.sharding"]
    reasons = [line for line in lines if "joining again" in line]
    assert len(reasons) == 1
    assert re.fullmatch(
        r"shard group default/shards: its leases could not be listed for 6\d s: this process was paused, or too busy; "
        "joining again",
        reasons[0],
    )
    assert not [record for record in caplog.records if record.exc_info]


@in_virtual_time
async def test_a_replica_that_cannot_list_the_group_logs_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    operator = Operator()
    async with Environment(objects=[*NAMESPACES, *SECRETS], leader_election_namespace="default") as env:
        await env.start(operator.app)
        await env.wait_for_idle()
        env.server.faults.fail(403, times=None, resource="leases", verb="list")
        await env.advance(15)
        env.server.faults.clear()
        await env.advance(30)

    reasons = [record.getMessage() for record in caplog.records if "joining again" in record.getMessage()]
    assert reasons
    assert "its leases could not be listed for 10 s: list leases" in reasons[0]
    assert not [record for record in caplog.records if record.exc_info]
