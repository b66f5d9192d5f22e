"""Informers of shards: what they keep, what handlers are told, and what happens when another share is selected."""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import masthead.aio
import masthead.server
from masthead import EventHandler, Patch
from masthead.api.core.v1 import ConfigMap, Namespace
from masthead.config import Config
from masthead.errors import ArgumentError, ClosedError, NotFoundError, SelectorError
from masthead.sharding import ShardRanges, ShardSet
from masthead.testing.virtual_time import LoopClock, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._cache.informer.informer import SharedInformer
    from masthead.aio import Client
    from masthead.server import Server

HALVES = ShardSet([0], total=2), ShardSet([1], total=2)
RANDOM = int(os.environ.get("MASTHEAD_SHARD_SELECTIONS", "6"))
NAMESPACES = ("black", "blue", "cache", "red")
gates = pytest.mark.parametrize("gate", [True, False], ids=["selected by the server", "filtered here"])
lists = pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])


class EventLog(EventHandler[ConfigMap]):
    """A handler that records its events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def on_add(self, obj: ConfigMap, is_initial: bool) -> None:
        self.events.append(("initial" if is_initial else "add", obj.metadata.name))

    def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
        del old
        self.events.append(("update", new.metadata.name))

    def on_delete(self, obj: ConfigMap, final_state_known: bool) -> None:
        del final_state_known
        self.events.append(("delete", obj.metadata.name))

    def take(self) -> list[tuple[str, str]]:
        """The events since the last call."""
        found, self.events = self.events, []
        return sorted(found)


class Setting:
    """A server with some maps, and a client."""

    def __init__(self, server: Server, client: Client) -> None:
        self.server, self.client = server, client
        self.maps = client.core_v1.config_maps("default")

    async def fill(self, count: int = 12) -> list[ConfigMap]:
        return [await self.maps.create(ConfigMap.new(f"map-{number}")) for number in range(count)]

    async def names(self, shards: ShardSet, namespace: str | None = "default") -> set[str]:
        found = await self.client.core_v1.config_maps(namespace).list()
        return {each.metadata.name for each in found if shards.owns_object(each)}

    def informer(self, **options: Any) -> SharedInformer[ConfigMap]:
        return masthead.aio.SharedInformer(self.maps, **options)


@asynccontextmanager
async def setting(*, gate: bool = True, **options: Any) -> AsyncIterator[Setting]:
    async with (
        masthead.server.run(
            clock=LoopClock(), bootstrap=False, token=None, seed=1, sharded_list_and_watch=gate, **options
        ) as server,
        masthead.aio.Client(Config(server=server.url)) as client,
    ):
        yield Setting(server, client)


def kept(informer: SharedInformer[Any]) -> set[str]:
    return {each.metadata.name for each in informer.indexer.list()}


@gates
@lists
@in_virtual_time
async def test_an_informer_keeps_the_objects_of_its_shard(gate: bool, watch_list: bool) -> None:
    async with setting(gate=gate) as here:
        await here.fill()
        mine = HALVES[0]
        async with here.informer(shard_selector=mine.selector(), watch_list=watch_list) as informer:
            await informer.wait_for_cache_sync()
            assert kept(informer) == await here.names(mine)

            made = [await here.maps.create(ConfigMap.new(f"map-{number}")) for number in range(12, 20)]
            for number in range(0, 12, 2):
                await here.maps.delete(f"map-{number}")
            await here.server.wait_for_idle()
            await informer.wait_for_version(made[-1], timeout=120)
            await asyncio.sleep(1)

            assert 0 < len(kept(informer)) < 14
            assert kept(informer) == await here.names(mine)
            assert (informer.health.other_shards > 0) is not gate
            assert informer.health.is_healthy


@gates
@in_virtual_time
async def test_an_informer_keeps_the_objects_of_its_namespaces(gate: bool) -> None:
    async with setting(gate=gate) as here:
        for namespace in NAMESPACES:
            await here.client.core_v1.namespaces().create(Namespace.new(namespace))
            await here.client.core_v1.config_maps(namespace).create(ConfigMap.new(f"of-{namespace}"))
        lower = ShardSet([0], total=2, by="namespace")
        everywhere = here.client.core_v1.config_maps(None)
        async with masthead.aio.SharedInformer(everywhere, shard_selector=lower.selector()) as informer:
            await informer.wait_for_cache_sync()

            assert kept(informer) == {"of-black", "of-cache"}


@gates
@lists
@in_virtual_time
async def test_a_wider_share_brings_objects_as_initial_ones(gate: bool, watch_list: bool) -> None:
    async with setting(gate=gate) as here:
        await here.fill()
        log = EventLog()
        informer = here.informer(shard_selector=HALVES[0].selector(), watch_list=watch_list)
        informer.add_event_handler(log)
        async with informer:
            await informer.wait_for_cache_sync(handlers=True)
            log.take()

            await informer.select_shards(ShardSet.everything(total=2))
            await asyncio.sleep(1)

            gained = await here.names(HALVES[1])
            assert log.take() == sorted(("initial", name) for name in gained)
            assert len(kept(informer)) == 12
            await here.maps.create(ConfigMap.new("new"))
            await asyncio.sleep(1)
            assert log.take() == [("add", "new")]


@gates
@in_virtual_time
async def test_a_narrower_share_leaves_objects_behind_without_a_word(gate: bool) -> None:
    async with setting(gate=gate) as here:
        await here.fill()
        log = EventLog()
        informer = here.informer()
        informer.add_event_handler(log)
        async with informer:
            await informer.wait_for_cache_sync(handlers=True)
            log.take()
            before = informer.health.relists

            await informer.select_shards(HALVES[1])

            assert kept(informer) == await here.names(HALVES[1])
            for number in range(12):
                await here.maps.patch(f"map-{number}", Patch.merge({"data": {"k": "v"}}))
                await here.maps.delete(f"map-{number}")
            await asyncio.sleep(1)
            mine = {name for _, name in log.events}
            assert {kind for kind, _ in log.events} == {"update", "delete"}
            assert 0 < len(mine) < 12
            assert kept(informer) == set()
            assert informer.health.relists == before


@gates
@in_virtual_time
async def test_the_other_share_takes_the_place_of_one(gate: bool) -> None:
    async with setting(gate=gate) as here:
        await here.fill()
        log = EventLog()
        informer = here.informer(shard_selector=HALVES[0].selector())
        informer.add_event_handler(log)
        async with informer:
            await informer.wait_for_cache_sync(handlers=True)
            log.take()

            await informer.select_shards(HALVES[1])
            await asyncio.sleep(1)

            assert kept(informer) == await here.names(HALVES[1])
            assert {kind for kind, _ in log.take()} == {"initial"}

            await informer.select_shards(ShardSet(total=2))
            assert kept(informer) == set()
            assert log.take() == []


@gates
@in_virtual_time
async def test_a_name_that_is_used_again_belongs_to_its_new_shard(gate: bool) -> None:
    async with setting(gate=gate) as here:
        await here.fill(1)
        log = EventLog()
        informer = here.informer(shard_selector=HALVES[0].selector())
        informer.add_event_handler(log)
        async with informer:
            await informer.wait_for_cache_sync(handlers=True)
            owners: list[bool] = []
            for _ in range(8):
                await here.maps.delete("map-0")
                made = await here.maps.create(ConfigMap.new("map-0"))
                await asyncio.sleep(1)
                owners.append(HALVES[0].owns_object(made))
                assert (informer.indexer.get_by_key("default/map-0") is not None) is owners[-1]
            assert set(owners) == {True, False}
            kinds = [kind for kind, _ in log.events]
            assert kinds.count("delete") + owners[-1] == kinds.count("add") + kinds.count("initial")


@in_virtual_time
async def test_a_share_can_be_selected_before_the_start() -> None:
    async with setting() as here:
        await here.fill()
        informer = here.informer()
        await informer.select_shards(HALVES[0])
        async with informer:
            await informer.wait_for_cache_sync()

            assert kept(informer) == await here.names(HALVES[0])
            assert informer.health.other_shards == 0


@lists
@in_virtual_time
async def test_a_share_can_be_selected_while_the_first_state_is_fetched(watch_list: bool) -> None:
    async with setting() as here:
        await here.fill()
        log = EventLog()
        informer = here.informer(watch_list=watch_list, page_size=0 if watch_list else 2)
        informer.add_event_handler(log)
        async with informer:
            await asyncio.sleep(0)
            selecting = asyncio.get_running_loop().create_task(informer.select_shards(HALVES[0]))
            await informer.wait_for_cache_sync(handlers=True)
            await selecting

            assert kept(informer) == await here.names(HALVES[0])
            assert {name for _, name in log.events} >= kept(informer)


@in_virtual_time
async def test_the_last_of_several_selections_holds() -> None:
    async with setting() as here:
        await here.fill(30)
        async with here.informer(shard_selector=ShardSet([0], total=4).selector()) as informer:
            await informer.wait_for_cache_sync()
            chosen = [ShardSet(slots, total=4) for slots in ([1, 2], [3], [0, 1, 2, 3], [2])]
            await asyncio.gather(*map(informer.select_shards, chosen))

            assert kept(informer) == await here.names(chosen[-1])


@gates
@in_virtual_time
async def test_a_selection_waits_for_a_server_that_fails(gate: bool) -> None:
    async with setting(gate=gate) as here:
        await here.fill()
        async with here.informer(shard_selector=HALVES[0].selector()) as informer:
            await informer.wait_for_cache_sync()
            fault = here.server.faults.fail(503, times=None, resource="configmaps", verb=("list", "watch"))
            selecting = asyncio.get_running_loop().create_task(informer.select_shards(HALVES[1]))
            await asyncio.sleep(60)

            assert not selecting.done()
            assert kept(informer) == set()

            fault.remove()
            await selecting
            assert kept(informer) == await here.names(HALVES[1])


@pytest.mark.parametrize(("code", "message"), [(414, ""), (431, ""), (500, "invalid shard selector: so it is")])
@in_virtual_time
async def test_a_selector_that_is_refused_is_applied_here(code: int, message: str) -> None:
    async with setting(gate=False) as here:
        await here.fill()
        here.server.faults.fail(code, message=message, verb="watch", resource="configmaps")
        async with here.informer(shard_selector=HALVES[0].selector()) as informer:
            await informer.wait_for_cache_sync()

            assert kept(informer) == await here.names(HALVES[0])
            assert informer.health.other_shards > 0


@in_virtual_time
async def test_an_invalid_selector_is_refused_at_once() -> None:
    async with setting() as here:
        with pytest.raises(SelectorError, match="not a range of hashes"):
            here.informer(shard_selector="shardRange(object.metadata.uid, '0x0', '0x8')")


@in_virtual_time
async def test_who_waits_for_a_selection_learns_of_the_end() -> None:
    async with setting() as here:
        informer = here.informer(shard_selector=HALVES[0].selector())
        await informer.start()
        await informer.wait_for_cache_sync()
        here.server.faults.fail(503, times=None, resource="configmaps", verb=("list", "watch"))
        selecting = asyncio.get_running_loop().create_task(informer.select_shards(HALVES[1]))
        await asyncio.sleep(1)

        await informer.stop()

        with pytest.raises(ClosedError):
            await selecting
        with pytest.raises(ClosedError):
            await informer.select_shards(HALVES[0])


@in_virtual_time
async def test_an_informer_with_a_queue_keeps_its_share() -> None:
    async with setting() as here, here.informer(queue=masthead.aio.cache.DeltaFIFO) as informer:
        with pytest.raises(ArgumentError, match="leave out queue"):
            await informer.select_shards(HALVES[0])


@pytest.mark.parametrize("seed", range(RANDOM))
def test_random_selections_and_writes_under_faults(seed: int) -> None:
    in_virtual_time(_random_selections)(seed)


async def _random_selections(seed: int) -> None:
    """Whatever happens, the store has the share in the end, and each object's events are in order."""
    choose = random.Random(seed)
    async with setting(gate=choose.random() < 0.5, history=choose.choice([5, 10_000])) as here:
        await here.fill(8)
        tracked: dict[str, bool] = {}

        class Tracker(EventLog):
            def on_delete(self, obj: ConfigMap, final_state_known: bool) -> None:
                del final_state_known
                assert tracked.pop(obj.metadata.uid), "deleted, but never added"

            def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
                assert tracked[new.metadata.uid]
                assert old.metadata.uid == new.metadata.uid

            def on_add(self, obj: ConfigMap, is_initial: bool) -> None:
                del is_initial
                tracked[obj.metadata.uid] = True

        informer = here.informer(shard_selector=ShardSet([0, 1], total=4).selector(), watch_list=choose.random() < 0.5)
        informer.add_event_handler(Tracker())
        async with informer:
            share = ShardSet([0, 1], total=4)
            selecting: list[asyncio.Task[None]] = []
            for number in range(60):
                what = choose.random()
                if what < 0.3:
                    share = ShardSet([slot for slot in range(4) if choose.random() < 0.5], total=4)
                    selecting.append(asyncio.get_running_loop().create_task(informer.select_shards(share)))
                elif what < 0.7:
                    await _write(here, choose, number)
                elif what < 0.8:
                    getattr(here.server.faults, choose.choice(["cut_watch", "drop_watch", "expire_watch"]))()
                elif what < 0.9:
                    here.server.faults.fail(choose.choice([500, 503, 410]), verb=("list", "watch"))
                else:
                    await asyncio.sleep(choose.choice([0, 0.01, 1, 30]))
            here.server.faults.clear()
            await asyncio.gather(*selecting)
            await informer.wait_for_cache_sync()
            await asyncio.sleep(300)

            assert kept(informer) == await here.names(share)
            assert {each.metadata.uid for each in informer.lister.list()} <= tracked.keys()


async def _write(here: Setting, choose: random.Random, number: int) -> None:
    name, what = f"map-{choose.randrange(10)}", choose.randrange(3)
    try:
        if what == 0:
            await here.maps.delete(name)
        elif what == 1:
            await here.maps.patch(name, Patch.merge({"data": {"n": str(number)}}))
        else:
            await here.maps.create(ConfigMap.new(f"made-{number}"))
    except NotFoundError:
        await here.maps.create(ConfigMap.new(name))


def test_the_blocking_informer_selects_shards_too() -> None:
    with (
        masthead.server.run(bootstrap=False, token=None, sharded_list_and_watch=True) as server,
        masthead.Client(Config(server=server.url)) as client,
    ):
        maps = client.core_v1.config_maps("default")
        made = [maps.create(ConfigMap.new(f"map-{number}")) for number in range(12)]
        with masthead.SharedInformer(maps) as informer:
            informer.wait_for_cache_sync(timeout=60)
            for half in HALVES:
                informer.select_shards(half)
                expected = {each.metadata.name for each in made if half.owns_object(each)}
                assert {each.metadata.name for each in informer.lister.list()} == expected


def test_ranges_and_sets_select_alike() -> None:
    assert ShardRanges.parse(HALVES[0].selector() or "") == HALVES[0].ranges
    assert HALVES[0].ranges.is_within(ShardSet.everything(total=4).ranges)
    assert ShardSet([1], total=4).ranges.is_within(HALVES[0].ranges)
    assert not HALVES[0].ranges.is_within(ShardSet([1], total=4).ranges)
    assert not HALVES[0].ranges.is_within(ShardSet([0], total=2, by="namespace").ranges)
