"""Random scenarios: objects, noise, faults and waiting; whatever happens, the server has every occurrence in the end.

A scenario is a seed. `MASTHEAD_EVENT_SCENARIOS` runs more of them, and `MASTHEAD_EVENT_SEED` a certain one.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.unit.record.cluster import cluster

from masthead.errors import ConflictError, NotFoundError
from masthead.record import CorrelatorOptions
from masthead.testing.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tests.unit.record.cluster import Cluster

    from masthead.aio import ResourceClient
    from masthead.api.core.v1 import ConfigMap, Event

SEEDS = (
    [int(os.environ["MASTHEAD_EVENT_SEED"])]
    if "MASTHEAD_EVENT_SEED" in os.environ
    else range(int(os.environ.get("MASTHEAD_EVENT_SCENARIOS", "6")))
)
OBJECTS = 4
WRITES = ("create", "patch")
"""What a recorder does; the tests' own requests are left alone."""


class Scenario:
    """One run: what is recorded, and what the server had before it forgot.

    Args:
        it: The cluster.
        seed: Where chance begins.
        is_rough: Whether the server also refuses for good, and limits are tight.
    """

    def __init__(self, it: Cluster, seed: int, *, is_rough: bool) -> None:
        self._it = it
        self._chance = random.Random(seed)
        self._is_rough = is_rough
        self.occurrences: Counter[tuple[str, str, str]] = Counter()
        self.kept: dict[str, tuple[tuple[str, str, str], int]] = {}
        self.has_forgotten = False
        self._objects: list[ConfigMap] = []

    async def play(self) -> None:
        """Do what chance says, and end the trouble."""
        self._objects = [await self._it.create(f"object-{number}") for number in range(OBJECTS)]
        if self._chance.random() < 0.3:
            self._be_old()
        acts = [self._noise] * 8 + [self._wait] * 6 + [self._trouble] * 4 + [self._outage, self._forget]
        for _ in range(self._chance.randint(20, 50)):
            await self._chance.choice(acts)()
        self._end_trouble()

    def _be_old(self) -> None:
        self._it.server.faults.fail(404, group="", resource="", verb="get", times=None)
        self._it.server.faults.fail(404, group="events.k8s.io", resource="events", verb=WRITES, times=None)

    async def _noise(self) -> None:
        chance = self._chance
        for _ in range(chance.choice([1, 1, 1, 3, 30])):
            obj = chance.choice(self._objects)
            note = chance.choice(["same", "same", "other", f"fresh {chance.random()}"])
            self.record(obj, chance.choice(["Normal", "Warning"]), chance.choice(["Synced", "Failed"]), note)

    def record(self, obj: ConfigMap, kind: str, reason: str, note: str) -> None:
        """Record, and remember it."""
        self._it.recorder.record(obj, kind, reason, note)
        self.occurrences[obj.metadata.name, kind, reason] += 1

    async def _wait(self) -> None:
        await asyncio.sleep(self._chance.choice([0.001, 0.1, 1, 30, 400, 2000]))

    async def _trouble(self) -> None:
        chance, faults = self._chance, self._it.server.faults
        times = chance.randint(1, 3)
        kinds = ["503", "429", "504", "throttle", "lose", "delay", "hang", "cut", "stall"]
        match chance.choice([*kinds, "500", "403", "409", "422"] if self._is_rough else kinds):
            case "throttle":
                faults.throttle(retry_after=chance.randint(1, 20), resource="events", verb=WRITES, times=times)
            case "lose":
                faults.lose_response(resource="events", verb=WRITES, times=times)
            case "delay":
                faults.delay(5, resource="events", verb=WRITES, times=times)
            case "hang":
                faults.delay(100, resource="events", verb=WRITES)
            case "cut":
                self._it.proxy.cut()
            case "stall":
                self._it.proxy.stall()
            case "409":
                faults.conflict(resource="events", verb=WRITES, times=times)
            case code:
                faults.fail(int(code), resource="events", verb=WRITES, times=times)

    async def _outage(self) -> None:
        await self._it.proxy.shut()
        await self._noise()
        await asyncio.sleep(self._chance.choice([0.5, 20, 90]))
        self._it.proxy.open()

    async def _forget(self) -> None:
        """Delete all Events, as the server does after an hour, unless one is changed meanwhile."""
        self.has_forgotten = True
        for event in await self._direct().list():
            meta = event.metadata
            with suppress(ConflictError, NotFoundError):
                await self._direct().delete(meta.name, resource_version=meta.resource_version)
                self._remember(event)

    def _direct(self) -> ResourceClient[Event]:
        return self._it.direct.core_v1.events("default")

    def _remember(self, event: Event) -> None:
        key = event.involved_object.name or "", event.type or "", event.reason or ""
        count = event.series.count if event.series else event.count
        self.kept[event.metadata.name] = key, count or 1

    def _end_trouble(self) -> None:
        self._it.proxy.open()
        for fault in self._it.server.faults:
            if fault.times is not None:
                fault.remove()

    async def counted(self) -> Counter[tuple[str, str, str]]:
        """The number of occurrences by object, type and reason, as the server has or had them."""
        for event in await self._direct().list():
            self._remember(event)
        found: Counter[tuple[str, str, str]] = Counter()
        for key, count in self.kept.values():
            found[key] += count
        return found

    def created(self) -> dict[str, list[int]]:
        """The times in the names of the Events that were sent to be created, by object, in the order of the
        requests."""
        found: dict[str, list[int]] = {}
        for request in self._it.requests():
            if request.method == "POST":
                name, _, nanos = json.loads(request.body)["metadata"]["name"].rpartition(".")
                found.setdefault(name, []).append(int(nanos, 16))
        return found


def check(coroutine: Coroutine[object, object, None], seed: int) -> None:
    """Run a scenario in virtual time; a failure names its seed."""
    try:
        run(coroutine)
    except BaseException as error:
        error.add_note(f"again: MASTHEAD_EVENT_SEED={seed}")
        raise


async def play_mild(seed: int) -> None:
    """Only temporary faults, and limits that nothing reaches."""
    limits = CorrelatorOptions(burst=1000)
    async with cluster(options=limits) as it:
        scenario = Scenario(it, seed, is_rough=False)
        await scenario.play()
        assert await it.recorder.flush(timeout=600)
        counts = it.recorder.counts
        assert (counts.failed, counts.dropped, counts.filtered, counts.pending) == (0, 0, 0, 0)
        assert await scenario.counted() == scenario.occurrences
        if not scenario.has_forgotten:
            assert all(times == sorted(times) for times in scenario.created().values())


async def play_rough(seed: int) -> None:
    """Faults of every kind, and tight limits."""
    chance = random.Random(seed)
    limits = CorrelatorOptions(
        burst=chance.choice([1, 5, 25]), cache_size=chance.choice([1, 3, 50]), refill=chance.choice([1, 300])
    )
    async with cluster(options=limits, queue_limit=chance.choice([1, 5, 1000])) as it:
        scenario = Scenario(it, seed, is_rough=True)
        await scenario.play()
        assert await it.recorder.flush(timeout=600)
        counts = it.recorder.counts
        assert counts.pending == 0
        assert counts.recorded == sum(scenario.occurrences.values())
        found = await scenario.counted()
        assert all(found[key] <= scenario.occurrences[key] for key in found)
        # It works as on the first day.
        last = await it.create("last")
        scenario.record(last, "Normal", "Synced", "last")
        assert await it.recorder.flush(timeout=60)
        assert (await scenario.counted())["last", "Normal", "Synced"] == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_no_occurrence_is_lost_while_the_server_has_trouble(seed: int) -> None:
    check(play_mild(seed), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_recorder_survives_everything(seed: int) -> None:
    check(play_rough(seed), seed)
