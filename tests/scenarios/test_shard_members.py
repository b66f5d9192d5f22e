"""Members of a shard group through the whole stack, in virtual time: they join, leave, crash and are cut off."""

from __future__ import annotations

import asyncio
import json
import os
import random
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

import masthead.aio
import masthead.server
from masthead import Unstructured
from masthead.aio.sharding import ShardMember
from masthead.config import Config
from masthead.errors import ArgumentError, ClosedError, NameFormatError
from masthead.sharding import ShardSet
from masthead.testing.virtual_time import LoopClock, in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead.aio import Client
    from masthead.server import Server

SLOTS = 16
SCENARIOS = int(os.environ.get("MASTHEAD_SHARD_GROUPS", "2"))
LEASES = ("coordination.k8s.io/v1", "leases")


class Workers:
    """The work of one member: notes which slots it works on, and takes its time to let go."""

    def __init__(self, group: Group, member: ShardMember, drain_time: float) -> None:
        self.group, self.member, self.drain_time = group, member, drain_time
        self.working: frozenset[int] = frozenset()
        self.calls: list[ShardSet] = []
        self.on_change_now = self._change

    async def on_change(self, share: ShardSet) -> None:
        await self.on_change_now(share)

    async def _change(self, share: ShardSet) -> None:
        self.calls.append(share)
        if self.working - share.slots:
            await asyncio.sleep(self.drain_time)
        self.working = share.slots & self.member.share.slots
        self.group.check()

    async def on_lost(self) -> None:
        self.working = frozenset()


class Group:
    """Some members with a client each, and the server of all."""

    def __init__(self, server: Server, tasks: asyncio.TaskGroup) -> None:
        self.server = server
        self._tasks = tasks
        self.members: dict[str, Workers] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._clients: dict[str, Client] = {}

    def add(self, name: str, *, drain_time: float = 0.0, **options: Any) -> Workers:
        """Start a member."""
        client = masthead.aio.Client(Config(server=self.server.url), attempts=1)
        member = ShardMember(client, "shop", "default", identity=name, slots=SLOTS, **options)
        workers = self.members[name] = Workers(self, member, drain_time)
        self._clients[name] = client
        self._running[name] = self._tasks.create_task(self._run(client, workers))
        return workers

    async def _run(self, client: Client, workers: Workers) -> None:
        async with client:
            with suppress(ClosedError):
                await workers.member.run(workers.on_change, workers.on_lost)

    async def stop(self, name: str) -> None:
        """Stop a member gracefully."""
        task = self._running.pop(name)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        del self.members[name]

    async def crash(self, name: str) -> None:
        """A member ends without a word to anybody: its client is closed."""
        del self.members[name]
        await self._clients[name].close()
        await asyncio.wait({self._running.pop(name)})

    def check(self) -> None:
        """No two members work on one slot."""
        seen: set[int] = set()
        for workers in self.members.values():
            assert not seen & workers.working, f"at {now()} two work on {seen & workers.working}"
            seen |= workers.working

    @property
    def shares(self) -> dict[str, int]:
        """How many slots each member works on."""
        return {name: len(each.working) for name, each in self.members.items()}

    async def settled(self, within: float = 60.0) -> dict[str, int]:
        """Wait until every slot is worked on, in equal shares."""
        deadline = now() + within
        while True:
            self.check()
            counts = self.shares
            if sum(counts.values()) == SLOTS and max(counts.values()) - min(counts.values()) <= 1:
                return counts
            assert now() < deadline, counts
            await asyncio.sleep(0.5)

    async def leases(self) -> dict[str, Unstructured]:
        async with masthead.aio.Client(Config(server=self.server.url)) as client:
            found = await client.dynamic(*LEASES, namespace="default").list()
            return {each.metadata.name: each for each in found}

    async def table(self) -> dict[str, Any]:
        found = (await self.leases())["shop-shards"]
        decoded: dict[str, Any] = json.loads(found.metadata.annotations["masthead/shard-table"])
        return decoded


@asynccontextmanager
async def group() -> AsyncIterator[Group]:
    async with (
        masthead.server.run(clock=LoopClock(), bootstrap=False, token=None) as server,
        asyncio.TaskGroup() as tasks,
    ):
        made = Group(server, tasks)
        yield made
        server.faults.clear()
        for name in list(made.members):
            await made.stop(name)


@in_virtual_time
async def test_a_single_member_owns_everything() -> None:
    async with group() as shop:
        workers = shop.add("a")
        await asyncio.sleep(1)

        assert workers.working == frozenset(range(SLOTS))
        assert workers.member.share == ShardSet.everything(total=SLOTS)
        assert workers.member.is_member
        assert workers.calls == [ShardSet.everything(total=SLOTS)]


@in_virtual_time
async def test_members_that_join_get_equal_shares() -> None:
    async with group() as shop:
        for name in "abcd":
            shop.add(name, drain_time=3.0)
            await shop.settled()

        assert set(shop.shares.values()) == {4}


@in_virtual_time
async def test_members_that_start_together_agree() -> None:
    async with group() as shop:
        for name in "abc":
            shop.add(name)

        assert sorted((await shop.settled(10)).values()) == [5, 5, 6]


@in_virtual_time
async def test_a_slot_moves_only_when_it_is_drained() -> None:
    async with group() as shop:
        first = shop.add("a", drain_time=100.0)
        await shop.settled()
        second = shop.add("b")
        await asyncio.sleep(90)

        assert len(first.member.share) == SLOTS // 2
        assert (len(first.working), len(second.working)) == (SLOTS, 0)
        assert "are still others'" in second.member.waits_for

        assert await shop.settled(60) == {"a": 8, "b": 8}
        assert second.member.waits_for == ""


@in_virtual_time
async def test_who_leaves_in_order_is_replaced_at_once() -> None:
    async with group() as shop:
        for name in "abc":
            shop.add(name)
        await shop.settled()

        await shop.stop("b")
        before = now()
        await shop.settled()

        assert now() - before < 5
        await asyncio.sleep(5)
        assert len(await shop.leases()) == 3  # those of two members, and the table


@in_virtual_time
async def test_who_crashes_is_replaced_when_its_lease_has_expired() -> None:
    async with group() as shop:
        for name in "abc":
            shop.add(name)
        await shop.settled()
        before = now()
        await shop.crash("b")
        await asyncio.sleep(14)
        assert sum(shop.shares.values()) < SLOTS

        await shop.settled()
        assert 15 <= now() - before < 25
        await asyncio.sleep(5)
        assert len(await shop.leases()) == 3


@in_virtual_time
async def test_who_cannot_renew_stops_before_others_take_over() -> None:
    async with group() as shop:
        for name in "ab":
            shop.add(name)
        await shop.settled()
        lost = shop.members["b"]
        name = lost.member._group.member_name("b")
        fault = shop.server.faults.fail(503, times=None, name=name)
        await asyncio.sleep(7)
        assert len(lost.working) == SLOTS // 2  # there is time left

        await asyncio.sleep(3.5)
        assert not lost.working
        assert not lost.member.is_member
        assert shop.shares == {"a": SLOTS // 2, "b": 0}

        fault.remove()  # it hits everybody's requests for the lease
        await shop.settled()


@in_virtual_time
async def test_who_cannot_list_the_leases_stops_and_comes_back() -> None:
    async with group() as shop:
        workers = shop.add("a")
        await shop.settled()
        fault = shop.server.faults.fail(403, times=None, verb="list", resource="leases")
        await asyncio.sleep(11)

        assert not workers.working
        assert not workers.member.share

        fault.remove()
        assert await shop.settled() == {"a": SLOTS}


@in_virtual_time
async def test_two_members_of_one_identity_are_one_after_the_other() -> None:
    async with group() as shop:
        shop.add("a")
        await shop.settled()
        client = masthead.aio.Client(Config(server=shop.server.url), attempts=1)
        twin = ShardMember(client, "shop", "default", identity="a", slots=SLOTS)
        calls: list[ShardSet] = []

        async def on_change(share: ShardSet) -> None:
            calls.append(share)

        async with client:
            task = asyncio.get_running_loop().create_task(twin.run(on_change))
            await asyncio.sleep(60)
            assert calls == []
            await shop.stop("a")
            await asyncio.sleep(10)
            assert calls[-1] == ShardSet.everything(total=SLOTS)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@in_virtual_time
async def test_members_that_divide_otherwise_wait() -> None:
    async with group() as shop:
        shop.add("a")
        await shop.settled()
        client = masthead.aio.Client(Config(server=shop.server.url), attempts=1)
        other = ShardMember(client, "shop", "default", identity="x", slots=32)
        calls: list[ShardSet] = []

        async def on_change(share: ShardSet) -> None:
            calls.append(share)

        async with client:
            task = asyncio.get_running_loop().create_task(other.run(on_change))
            await asyncio.sleep(60)
            assert "divided into 16-uid, not 32-uid" in other.waits_for
            assert await shop.settled() == {"a": SLOTS}
            await shop.stop("a")
            await asyncio.sleep(10)
            assert calls[-1] == ShardSet.everything(total=32)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.mark.parametrize("what", ["delete", "garble"])
@in_virtual_time
async def test_a_table_that_is_lost_is_made_anew_after_a_lease_duration(what: str) -> None:
    async with group() as shop:
        for name in "ab":
            shop.add(name)
        await shop.settled()
        async with masthead.aio.Client(Config(server=shop.server.url)) as client:
            leases = client.dynamic(*LEASES, namespace="default")
            if what == "delete":
                await leases.delete("shop-shards")
            else:
                table = (await leases.get("shop-shards")).copy()
                table.metadata.annotations = {"masthead/shard-table": "{}"}
                await leases.update(table)
        lost_at = now()
        await asyncio.sleep(5)
        assert shop.shares == {"a": 0, "b": 0}

        assert await shop.settled() == {"a": 8, "b": 8}
        assert 15 <= now() - lost_at < 25


@in_virtual_time
async def test_a_callback_that_fails_is_called_again_and_nothing_moves_before_it_succeeds() -> None:
    async with group() as shop:
        first = shop.add("a")
        await shop.settled()
        fails, proper = [True], first.on_change_now

        async def on_change(share: ShardSet) -> None:
            if fails[0]:
                raise ValueError("not now")
            await proper(share)

        first.on_change_now = on_change
        second = shop.add("b")
        await asyncio.sleep(30)
        assert not second.working

        fails[0] = False
        assert await shop.settled() == {"a": 8, "b": 8}


@in_virtual_time
async def test_arguments_are_checked() -> None:
    async with masthead.aio.Client(Config(server="http://127.0.0.1:1")) as client:
        with pytest.raises(NameFormatError, match="the name of the shard group"):
            ShardMember(client, "Shop", "default")
        with pytest.raises(ArgumentError, match="slots"):
            ShardMember(client, "shop", "default", slots=0)
        with pytest.raises(ArgumentError, match="by uid or by namespace"):
            ShardMember(client, "shop", "default", by="name")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="lease_duration"):
            ShardMember(client, "shop", "default", lease_duration=5)


@pytest.mark.parametrize("seed", range(SCENARIOS))
def test_random_groups(seed: int) -> None:
    in_virtual_time(_random_group)(seed)


async def _random_group(seed: int) -> None:
    """Members come and go, and requests fail; no two work on one slot, and in the end all slots are worked on."""
    choose = random.Random(seed)
    async with group() as shop:
        names = iter(f"m{number}" for number in range(1000))
        shop.add(next(names))
        for _ in range(40):
            what = choose.random()
            member = choose.choice(list(shop.members))
            lease = shop.members[member].member._group.member_name(member)
            if what < 0.25 and len(shop.members) < 5:
                shop.add(next(names), drain_time=choose.choice([0.0, 2.0, 8.0]))
            elif what < 0.35 and len(shop.members) > 1:
                await shop.stop(member)
            elif what < 0.5:
                shop.server.faults.fail(choose.choice([500, 503, 409]), times=choose.randint(1, 12), name=lease)
            elif what < 0.6:
                shop.server.faults.fail(503, times=choose.randint(1, 20), resource="leases")
            elif what < 0.7:
                shop.server.faults.conflict(times=choose.randint(1, 4), resource="leases")
            for _ in range(choose.randint(1, 20)):
                await asyncio.sleep(choose.choice([0.1, 1.0]))
                shop.check()
        shop.server.faults.clear()
        await shop.settled(120)
        owned = [slots["slots"] for slots in (await shop.table())["owners"].values()]
        assert len(owned) == len(shop.members)
