"""Replicas of a manager that share objects, in random scenarios: they come, go, crash and pause while objects change.

No object is reconciled by two at a time, and in the end every object is as it should be.
``MASTHEAD_SHARDED_MANAGERS=100`` runs more scenarios.
"""

from __future__ import annotations

import asyncio
import os
import random
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import NotFoundError, StatusError
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

if TYPE_CHECKING:
    from masthead._sansio.sharding import ShardKey
    from masthead.testing import Replica

SCENARIOS = int(os.environ.get("MASTHEAD_SHARDED_MANAGERS", "2"))
SLOTS = 64
NAMES = [f"secret-{number}" for number in range(20)]


class SharedCopies:
    """Replicas of an operator that copies Secrets to ConfigMaps; notes who works on what.

    Args:
        env: Where they run.
        choose: What happens.
    """

    def __init__(self, env: Environment, choose: random.Random) -> None:
        self._shard_key: ShardKey = choose.choice(["uid", "namespace"])
        self.overlaps: list[str] = []
        self._env = env
        self._choose = choose
        self._secrets = env.client.core_v1.secrets("default")
        self._replicas: dict[str, Replica] = {}
        self._running: dict[tuple[str, str], float] = {}
        self._resumed: dict[str, float] = {}
        self._excused: set[tuple[str, str]] = set()
        self._count = 0

    def _make_app(self) -> masthead.Manager:
        app = masthead.Manager("copies", sharding="copies", shard_by=self._shard_key)

        @app.controller(Secret, owns=[ConfigMap], workers=3)
        async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], secret: Secret) -> None:
            # By the uid: another object of the same name may be another replica's, and begin while this one ends.
            name, key = self._name_of(ctx), f"{ctx.request.key} {secret.metadata.uid}"
            self._note_overlaps(name, key)
            self._running[name, key] = now()
            try:
                await asyncio.sleep(random.Random(secret.metadata.uid).random() * 3)
                await ctx.apply(ConfigMap.new(secret.metadata.name, data={"copy": _content(secret)}))
            finally:
                self._note_end(name, key)

        return app

    def _name_of(self, ctx: masthead.aio.ReconcileContext[Secret]) -> str:
        return next(name for name, each in self._replicas.items() if each.client is ctx.client)

    def _note_overlaps(self, name: str, key: str) -> None:
        for (other, busy), began in self._running.items():
            if busy != key or other == name:
                continue
            # A paused process does nothing, and stops what it was doing in the instant in which it goes on.
            is_resuming = began < self._resumed.get(other, 0.0) == now()
            if self._replicas[other].is_paused or is_resuming:
                self._excused.add((other, key))
            else:
                self.overlaps.append(f"at {now():.2f} s {key} by {other} and {name}")

    def _note_end(self, name: str, key: str) -> None:
        self._running.pop((name, key), None)
        if (name, key) in self._excused and self._resumed[name] != now():
            self.overlaps.append(f"until {now():.2f} s {key} by {name}, which was resumed earlier")
        self._excused.discard((name, key))

    @property
    def living(self) -> list[Replica]:
        """The replicas that run."""
        return [replica for replica in self._replicas.values() if replica.is_running]

    async def start(self) -> None:
        """Start another replica."""
        self._count += 1
        name = f"replica-{self._count}"
        replica = self._replicas[name] = await self._env.start(self._make_app, name)
        assert replica.runtime.member is not None

    async def change(self) -> None:
        """Create, change or delete a Secret."""
        name, data = self._choose.choice(NAMES), {"a": self._choose.choice(["MQ==", "Mg==", "Mw=="])}
        with suppress(StatusError):  # faults hit this client, too
            try:
                if self._choose.random() < 0.2:
                    await self._secrets.delete(name)
                else:
                    await self._secrets.patch(name, masthead.Patch.merge({"data": data}))
            except NotFoundError:
                await self._secrets.create(Secret.new(name, data={"a": b"1"}))

    async def disturb(self) -> None:
        """Let something happen to a replica or to the server, or change an object."""
        choose, faults = self._choose, self._env.server.faults
        what, chosen = choose.random(), choose.choice(self.living)
        can_miss = len(self.living) > 1
        if what < 0.12 and len(self.living) < 4:
            await self.start()
        elif what < 0.18 and can_miss:
            await chosen.stop()
        elif what < 0.22 and can_miss:
            await self._crash(chosen)
        elif what < 0.26:
            await self._pause(chosen)
        elif what < 0.32:
            faults.fail(choose.choice([500, 503, 409]), times=choose.randint(1, 10))
        elif what < 0.36:
            faults.drop_watch(times=2)
        else:
            await self.change()

    async def _crash(self, replica: Replica) -> None:
        await replica.crash()
        # A dead process runs nothing, and has not noted the end of its reconciles.
        self._running = {(name, key): began for (name, key), began in self._running.items() if name != replica.name}

    async def _pause(self, replica: Replica) -> None:
        replica.pause()
        for _ in range(self._choose.choice([3, 12, 40])):
            await self._env.advance(1)
            await self.change()
        self._resumed[replica.name] = now()
        replica.resume()

    async def differences(self) -> dict[str, tuple[str, str | None]]:
        """The Secrets that have no copy, or an old one: what it should be, and what it is."""
        copies = await self._env.client.core_v1.config_maps("default").list()
        found = {copy.metadata.name: copy.data.get("copy") for copy in copies}
        wanted = {each.metadata.name: _content(each) for each in await self._secrets.list()}
        return {name: (text, found.get(name)) for name, text in wanted.items() if found.get(name) != text}

    def shares(self) -> list[int]:
        """How many slots each living replica owns."""
        members = [each.runtime.member for each in self.living]
        return [len(member.share) for member in members if member is not None]


def _content(secret: Secret) -> str:
    return ",".join(f"{key}={value!r}" for key, value in sorted(secret.data.items()))


@pytest.mark.parametrize("seed", [*range(SCENARIOS), 5351])
def test_random_replicas_and_changes(seed: int) -> None:
    in_virtual_time(_play)(seed)


async def _play(seed: int) -> None:
    choose = random.Random(seed)
    async with Environment() as env:
        copies = SharedCopies(env, choose)
        await copies.start()
        for _ in range(60):
            await copies.disturb()
            await env.advance(choose.choice([0.1, 0.5, 2, 8]))
        env.server.faults.clear()
        await env.advance(120)

        assert copies.overlaps == []
        assert await copies.differences() == {}
        assert not env.missing_permissions
        assert sum(copies.shares()) == SLOTS, copies.shares()
