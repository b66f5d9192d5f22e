"""Own writes: reconciles wait for the cache to show them, and they are no reason to reconcile again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.meta import set_controller
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from pathlib import Path


class Counter:
    """Increments a counter in a cached ConfigMap, once per foreign change."""

    def __init__(self, **options: Any) -> None:
        self.app = masthead.Manager("counter", **options)
        self.seen: list[tuple[float, int]] = []

        @self.app.controller(Secret, owns=[ConfigMap], ignore_own_writes=True)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
            found = ctx.cache.get(ConfigMap, "count", "default")
            count = int(found.data["n"]) if found is not None else 0
            self.seen.append((now(), count))
            await ctx.apply(ConfigMap.new("count", data={"n": str(count + 1)}))


async def touch(env: Environment, text: str) -> None:
    secret = Secret.new("s", data={"text": text.encode()})
    await env.client.core_v1.secrets("default").apply(secret, field_manager="test")


@in_virtual_time
async def test_a_cache_that_is_silent_for_long_is_waited_for() -> None:
    counter = Counter()
    async with Environment() as env:
        # Nothing comes any more behind the bookmark that ends the initial state, until the stall is noticed.
        env.server.faults.silence_watch(resource="configmaps", after=1)
        await env.start(counter.app)
        await env.wait_for_idle()
        for text in "abc":
            await touch(env, text)
            await env.advance(1)
        assert counter.seen == [(0.0, 0)]
        await env.wait_for_idle()
        (first, second) = counter.seen
        assert (first, second[1]) == ((0.0, 0), 1)
        assert second[0] > 20


@pytest.mark.slow
@in_virtual_time
async def test_a_server_that_is_away_for_long_is_waited_for(tmp_path: Path) -> None:
    counter = Counter()
    async with Environment(server_options={"data": tmp_path / "objects"}) as env:
        env.server.faults.silence_watch(resource="configmaps", after=1)
        await env.start(counter.app)
        await env.wait_for_idle()
        await touch(env, "a")
        await env.advance(1)
        await env.stop_server()
        await env.advance(1000)
        await env.start_server()
        await touch(env, "b")
        await env.wait_for_idle()
        assert [count for _, count in counter.seen] == [0, 1]


@in_virtual_time
async def test_a_lost_write_is_not_awaited_forever(tmp_path: Path) -> None:
    counter = Counter()
    async with Environment(server_options={"data": tmp_path / "before"}) as env:
        for text in "abcdefgh":
            await touch(env, text)
        env.server.faults.silence_watch(resource="configmaps", after=1)
        await env.start(counter.app)
        await env.advance(1)
        assert [count for _, count in counter.seen] == [0]
        await env.stop_server()
        env._server_options["data"] = tmp_path / "after"
        await env.start_server()
        await touch(env, "a")
        await env.advance(600)
        await env.wait_for_idle()
        found = await env.client.core_v1.config_maps("default").get("count")
        assert found.data == {"n": "1"}


@in_virtual_time
async def test_a_new_term_begins_when_the_caches_show_the_writes_of_the_last_term() -> None:
    counter = Counter(leader_election="counter")
    async with Environment(leader_election_namespace="default") as env:
        env.server.faults.silence_watch(resource="configmaps", after=1)
        replica = await env.start(counter.app)
        await env.wait_for_idle()
        await touch(env, "a")
        await env.advance(1)
        assert [count for _, count in counter.seen] == [0]
        replica.pause()
        await env.advance(18)  # the lease expires, and nobody else wants it
        replica.resume()
        await env.advance(5)
        assert replica.is_leading
        assert [count for _, count in counter.seen] == [0]
        await env.wait_for_idle()
        assert counter.seen[1][1] == 1


@in_virtual_time
async def test_a_suspended_leader_starts_no_reconcile() -> None:
    app = masthead.Manager("suspended", leader_election="suspended")
    clients: list[masthead.aio.Client] = []

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> masthead.controller.Result:
        clients.append(ctx.client)
        # Due before the elector of a process that was suspended notices that time has passed.
        return masthead.controller.Result(requeue_after=0.5)

    async with Environment(app, app, leader_election_namespace="default") as env:
        await env.wait_for_idle()
        first, second = env.replicas
        await touch(env, "a")
        await env.wait_for_idle()
        assert set(clients) == {first.client}
        first.pause()
        await env.advance(60)
        clients.clear()
        first.resume()
        await env.advance(60)
        assert set(clients) == {second.client}


@in_virtual_time
async def test_deleted_collections_are_awaited_and_dry_runs_are_not() -> None:
    app = masthead.Manager("collections")
    seen: list[tuple[float, list[str]]] = []

    @app.controller(Secret, reads=[masthead.controller.Reads(ConfigMap, label_selector="part")])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        seen.append((now(), sorted(part.metadata.name for part in ctx.cache.list(ConfigMap))))
        maps = ctx.client.core_v1.config_maps("default")
        await maps.delete("kept", dry_run=True)
        await maps.delete_collection(label_selector="part=lost")

    parts = [ConfigMap.new(name, namespace="default", labels={"part": "lost"}) for name in ("one", "two")]
    kept = ConfigMap.new("kept", namespace="default", labels={"part": "kept"})
    async with Environment(objects=[*parts, kept]) as env:
        # The cache is behind for a while: no event comes after the bookmark that ends the initial state.
        env.server.faults.silence_watch(resource="configmaps", after=4)
        await env.start(app)
        for text in "ab":
            await touch(env, text)
            await env.advance(1)
        assert seen == [(0.0, ["kept", "one", "two"])]
        await env.wait_for_idle()
        assert [there for _, there in seen] == [["kept", "one", "two"], ["kept"]]

        began = now()
        await touch(env, "c")
        await env.wait_for_idle()
        assert len(seen) == 3
        assert now() - began < 1


@pytest.mark.parametrize("how", ["client", "context"])
@in_virtual_time
async def test_writes_of_threads_belong_to_their_reconcile(how: str) -> None:
    app = masthead.Manager("pooled")
    seen: list[int] = []

    @app.controller(ConfigMap, owns=[Secret])
    def reconcile(ctx: masthead.ReconcileContext[ConfigMap], owner: ConfigMap) -> None:
        owned = ctx.cache.owned(Secret, owner)
        seen.append(len(owned))
        if owned:
            return

        def create(number: int) -> None:
            made = Secret.new(f"{owner.metadata.name}-{number}", namespace="default")
            if how == "context":
                ctx.apply(made)
                return
            set_controller(made, owner)
            ctx.client.core_v1.secrets("default").create(made)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(create, range(3)))

    async with Environment() as env:
        env.server.faults.silence_watch(resource="secrets", after=1)
        await env.start(app)
        maps = env.client.core_v1.config_maps("default")
        await maps.create(ConfigMap.new("a"))
        for number in range(3):
            await env.advance(5)
            await maps.patch("a", masthead.Patch.merge({"data": {"n": str(number)}}))
        await env.wait_for_idle()
        assert seen == [0, 3]
