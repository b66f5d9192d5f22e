"""Own writes and selective caches: reconciles wait only for caches that may contain the object."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cache.fake_list_watch import FakeListWatch

import masthead
import masthead.aio
from masthead._controller.cache_reader import CacheReader, informer_of
from masthead._controller.flight import Flight
from masthead._sansio.own_writes import CachedVersion, OwnWrite, is_visible, may_select
from masthead._sansio.sharding import ShardRanges
from masthead.aio import SharedInformer, SharedInformerFactory
from masthead.api.core.v1 import ConfigMap, Namespace, Secret
from masthead.controller import Reads
from masthead.errors import UnknownIndexError
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from masthead._controller.declarations import WatchSpec

WRITE = OwnWrite("configmaps", "shop/web", "u", None, "7", labels={"app": "web"})


async def touch(env: Environment, text: str) -> None:
    secret = Secret.new("s", data={"text": text.encode()})
    await env.client.core_v1.secrets("default").apply(secret, field_manager="test")


# Which caches may select an object.


@pytest.mark.parametrize(
    ("namespace", "selectors"),
    [
        ("blog", {}),
        (None, {"fieldSelector": "metadata.name=other"}),
        (None, {"fieldSelector": "metadata.name!=web"}),
        (None, {"fieldSelector": "metadata.namespace=blog,type=Opaque"}),
        (None, {"labelSelector": "app=api"}),
        (None, {"labelSelector": "!app"}),
        ("shop", {"labelSelector": "app", "fieldSelector": "metadata.name=other"}),
        (None, {"shardSelector": str(ShardRanges([(0, 1)]))}),
        (None, {"shardSelector": str(ShardRanges([(0, 1)], by="namespace"))}),
    ],
)
def test_an_object_is_not_selected_by(namespace: str | None, selectors: dict[str, str]) -> None:
    assert not may_select(WRITE, namespace, selectors)


@pytest.mark.parametrize(
    ("namespace", "selectors"),
    [
        (None, {}),
        ("shop", {"labelSelector": "app in (web,api)"}),
        ("shop", {"fieldSelector": "metadata.name=web,metadata.namespace=shop"}),
        (None, {"fieldSelector": "metadata.name=web,type=Opaque"}),
        (None, {"fieldSelector": "spec.nodeName=one"}),  # only the server knows
        (None, {"shardSelector": str(ShardRanges([(0, 1 << 64)]))}),
    ],
)
def test_an_object_may_be_selected_by(namespace: str | None, selectors: dict[str, str]) -> None:
    assert may_select(WRITE, namespace, selectors)


def test_an_object_without_labels_matches_only_selectors_that_need_none() -> None:
    write = WRITE._replace(labels={})
    assert not may_select(write, None, {"labelSelector": "app"})
    assert may_select(write, None, {"labelSelector": "app!=api"})


def test_an_object_with_unknown_labels_matches_every_selector() -> None:
    assert may_select(WRITE._replace(labels=None), None, {"labelSelector": "app=api"})


def test_a_write_without_a_namespace_matches_every_namespace() -> None:
    assert may_select(WRITE._replace(key="web"), "blog", {})


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.data())
def test_visible_writes_stay_visible(history: list[bool], data: st.DataObject) -> None:
    """The history of one object: whether the cache selects it after each own write, whose versions are 1, 2, …"""
    writes = [OwnWrite("maps", "ns/a", "u", None, str(number + 1)) for number in range(len(history))]
    last = len(history)

    def cached(seen: int) -> CachedVersion | None:
        is_held = seen > 0 and history[seen - 1]
        return CachedVersion("u", str(seen), is_deleting=False) if is_held else None

    def shows_all(seen: int) -> bool:
        # Without a bookmark, the version of the cache is that of the last event: enters, changes or leaves.
        events = [version for version in range(1, seen + 1) if cached(version) or cached(version - 1)]
        version = str(max(events, default=0))
        return all(
            is_visible(write, cached(seen), version, is_selected=selected)
            for write, selected in zip(writes, history, strict=True)
        )

    seen = data.draw(st.integers(0, last))
    if shows_all(seen):
        assert all(cached(version) is None for version in range(seen, last))
    assert shows_all(last)


# Caches of a controller.

ELSEWHERE = Namespace.new("settings")
DEFAULTS = ConfigMap.new("defaults", namespace="settings", labels={"part": "defaults"})
READS: dict[str, Reads[Any]] = {
    "by name": Reads(ConfigMap, field_selector={"metadata.name": "defaults"}),
    "by namespace": Reads(ConfigMap, namespace="settings"),
    "by labels": Reads(ConfigMap, label_selector="part"),
}


@pytest.mark.parametrize("owns", [[ConfigMap], []], ids=["owned", "not owned"])
@pytest.mark.parametrize("reads", READS.values(), ids=READS)
@in_virtual_time
async def test_a_cache_that_does_not_select_a_write_is_not_awaited(
    reads: Reads[Any], owns: list[type[ConfigMap]]
) -> None:
    app, seen = masthead.Manager("selective"), list[tuple[float, bytes]]()

    @app.controller(Secret, owns=owns, reads=[reads], ignore_own_writes=True)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
        seen.append((now(), secret.data["text"]))
        await ctx.apply(ConfigMap.new("copy", data={"text": secret.data["text"].decode()}))
        made = ConfigMap.from_dict({"metadata": {"generateName": "made-"}})
        await ctx.client.core_v1.config_maps("default").create(made)
        assert await ctx.get(ConfigMap, "defaults", "settings") is not None
        assert (await ctx.get(ConfigMap, "copy") is not None) == bool(owns)

    async with Environment(app, objects=[ELSEWHERE, DEFAULTS]) as env:
        for text in "abc":
            await touch(env, text)
            await env.advance(1)
        assert env.failures == []

    assert [text for _, text in seen] == [b"a", b"b", b"c"]
    assert seen[-1][0] < 3


@in_virtual_time
async def test_writes_outside_of_the_cached_namespaces_are_not_awaited() -> None:
    app, seen = masthead.Manager("local", namespaces=["default", "settings"]), list[float]()

    @app.controller(Secret, reads=[ConfigMap])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        seen.append(now())
        wanted = ConfigMap.new("copy", namespace="other", data={"n": str(len(seen))})
        await ctx.apply(wanted, owned=False)

    async with Environment(app, objects=[ELSEWHERE, Namespace.new("other")]) as env:
        for text in "ab":
            await touch(env, text)
            await env.advance(1)

    assert len(seen) == 2


@pytest.mark.parametrize("gate", [True, False], ids=["selected by the server", "dropped by the client"])
@in_virtual_time
async def test_a_cache_of_another_share_is_not_waited_for(gate: bool) -> None:
    app, seen = masthead.Manager("shares", sharding="shares"), dict[str, float]()

    @app.controller(ConfigMap, label_selector="app")
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], config: ConfigMap) -> None:
        for number in range(8 if config.metadata.name == "parent" else 0):
            child = ConfigMap.new(f"child-{number}", labels={"app": "web"}, data=config.data)
            await ctx.apply(child, owned=False)
        await ctx.list(ConfigMap)  # waits for the children, as far as they are in the share
        seen[config.metadata.name] = now()

    options = {"sharded_list_and_watch": gate}
    async with Environment(app, app, server_options=cast("Any", options), leader_election_namespace="default") as env:
        await env.advance(60)
        maps = env.client.core_v1.config_maps("default")
        for text in "ab":
            parent = ConfigMap.new("parent", labels={"app": "web"}, data={"text": text})
            began = now()
            await maps.apply(parent, field_manager="test")
            await env.advance(2)
            assert began <= seen["parent"] < began + 1
    assert len(seen) == 9


@in_virtual_time
async def test_a_reconcile_waits_for_an_object_to_leave_a_selective_cache() -> None:
    app, seen = masthead.Manager("leaving"), list[tuple[float, list[str]]]()

    @app.controller(Secret, reads=[Reads(ConfigMap, label_selector="part")])
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> None:
        seen.append((now(), [child.metadata.name for child in ctx.cache.list(ConfigMap)]))
        maps = ctx.client.core_v1.config_maps("default")
        await maps.patch("web", masthead.meta.Patch.merge({"metadata": {"labels": {"part": None}}}))

    web = ConfigMap.new("web", namespace="default", labels={"part": "one"})
    async with Environment(objects=[web]) as env:
        # Nothing comes behind the initial state until the stall is noticed.
        env.server.faults.silence_watch(resource="configmaps", after=2)
        await env.start(app)
        for text in "ab":
            await touch(env, text)
            await env.advance(1)
        assert seen == [(0.0, ["web"])]
        await env.wait_for_idle()
    assert [names for _, names in seen] == [["web"], []]
    assert seen[1][0] > 20


@in_virtual_time
async def test_a_cache_with_an_unknown_selection_is_awaited() -> None:
    app, seen = masthead.Manager("undecidable"), list[tuple[float, int]]()

    @app.controller(ConfigMap, label_selector="app", reads=[Reads(Secret, field_selector={"type": "a/b"})])
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], config: ConfigMap) -> None:
        seen.append((now(), len(ctx.cache.list(Secret))))
        made = {"metadata": {"generateName": "made-"}, "type": config.data["type"]}
        await ctx.client.core_v1.secrets("default").create(Secret.from_dict(made))

    async def ask(type_: str, number: int) -> None:
        wanted = ConfigMap.new("web", labels={"app": "web"}, data={"type": type_, "number": str(number)})
        await env.client.core_v1.config_maps("default").apply(wanted, field_manager="test")
        await env.advance(1)

    async with Environment(app) as env:
        await ask("a/b", 1)
        await ask("a/b", 2)
        assert [count for _, count in seen] == [0, 1]
        # The next bookmark shows that the cache is not concerned.
        await ask("c/d", 3)
        await ask("c/d", 4)
        assert [count for _, count in seen] == [0, 1, 2]
        await env.advance(61)
        assert [count for _, count in seen] == [0, 1, 2, 2]


async def next_turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@in_virtual_time
async def test_a_reconcile_waits_for_the_removal_of_an_object_it_created_and_deleted() -> None:
    source = FakeListWatch()
    async with Environment() as env, SharedInformer(cast("Any", source)) as informer:
        await informer.wait_for_cache_sync()
        spec = Reads(ConfigMap).spec
        reader = CacheReader("one", [(spec, informer)], {})
        flight = Flight(masthead.controller.Request("", "one"), "1", 0.0, reader, env.client.rest)
        uid = f"uid-web-{source.version}.0"
        created = OwnWrite("configmaps", "shop/web", uid, "", str(source.version + 1), labels={})
        flight.writes.extend([created, OwnWrite("configmaps", "shop/web", uid, None, "")])
        waiting = asyncio.get_running_loop().create_task(flight.wait_for_writes())
        await next_turns()
        assert not waiting.done()
        source.put("web")
        await next_turns()
        # The creation shows, and so the deletion does not any more.
        assert informer.indexer.get_by_key("shop/web") is not None
        assert not waiting.done()
        source.remove("web")
        await asyncio.wait_for(waiting, 1)


@in_virtual_time
async def test_staleness_counts_only_late_caches() -> None:
    async with Environment() as env:
        factory = SharedInformerFactory(env.client)
        specs: list[WatchSpec] = [Reads(ConfigMap, namespace=namespace).spec for namespace in ("shop", "blog")]
        reader = CacheReader("one", [(spec, informer_of(factory, spec)) for spec in specs], {})
        assert not reader.is_visible(WRITE)
        assert reader.staleness(WRITE) == float("inf")
        elsewhere = WRITE._replace(key="other/web")
        assert reader.is_visible(elsewhere)
        assert reader.staleness(elsewhere) == 0


# Indices.


class Indexed:
    """Has an index of the ConfigMaps that it reconciles, and others in another cache."""

    def __init__(self, index: str, kind: Any = ConfigMap) -> None:
        self.app = masthead.Manager("indexed")
        self.seen: list[object] = []

        @self.app.controller(
            ConfigMap,
            name="maps",
            label_selector={"app": "web"},
            reads=[Reads(ConfigMap, label_selector="part"), Secret],
            indexers={"colour": lambda each: [each.data["colour"]]},
        )
        async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
            try:
                self.seen.append([match.metadata.name for match in ctx.cache.by_index(kind, index, "blue")])
            except UnknownIndexError as error:
                self.seen.append(str(error))

    async def run(self) -> list[object]:
        data = {"colour": "blue"}
        objects = [
            ConfigMap.new("both", namespace="default", labels={"app": "web", "part": "one"}, data=data),
            ConfigMap.new("read", namespace="default", labels={"part": "one"}, data=data),
        ]
        async with Environment(self.app, objects=objects) as env:
            await env.wait_for_idle()
        return self.seen


@in_virtual_time
async def test_an_index_returns_every_reconciled_object_once() -> None:
    assert await Indexed("colour").run() == [["both"]]
    assert await Indexed("colour", "v1/configmaps").run() == [["both"]]


@in_virtual_time
async def test_an_unknown_index_is_answered_with_what_to_declare() -> None:
    (problem,) = await Indexed("size").run()
    assert problem == (
        'controller maps has no index "size" of configmaps, only these: "colour"; add indexers={"size": ...} to the '
        "controller"
    )
    (problem,) = await Indexed("colour", Secret).run()
    assert problem == (
        "controller maps has indices of configmaps, which it reconciles, and none of secrets; list those, with a label "
        "selector if they are many"
    )
