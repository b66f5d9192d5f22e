"""Measures the longest pause of the event loop during one step of an informer, and prints it as JSON.

    python -m benchmarks.stall.worker STEP KUBECONFIG COUNT

A heartbeat runs beside the informer. The time between two beats, less the time that it sleeps, is a pause. The CPU time
between two beats shows the same without what other processes of the machine add.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from masthead.aio import Client, SharedInformer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from benchmarks.harness.measure import Figures

_BEAT_S: Final = 0.0005
_PATIENCE: Final = 600.0

Hold: TypeAlias = Literal["lazy", "compact"]
Pods: TypeAlias = "SharedInformer[Any]"


class Heartbeat:
    """Beats on the running loop for the length of a block, and keeps the longest pause.

    Attributes:
        pause: Seconds between two beats, at most.
        cpu: Seconds of the loop's thread between two beats, at most.
        collection: Seconds of the longest garbage collection.
    """

    def __init__(self) -> None:
        self.pause = self.cpu = self.collection = 0.0
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._wall = self._used = self._collecting = 0.0

    def __enter__(self) -> Self:
        gc.callbacks.append(self._on_collection)
        self._set()
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._on_collection)
        self._measure()
        if self._timer is not None:
            self._timer.cancel()

    def _set(self) -> None:
        self._wall, self._used = time.perf_counter(), time.thread_time()
        self._timer = self._loop.call_later(_BEAT_S, self._beat)

    def _beat(self) -> None:
        self._measure()
        self._set()

    def _measure(self) -> None:
        self.pause = max(self.pause, time.perf_counter() - self._wall - _BEAT_S)
        self.cpu = max(self.cpu, time.thread_time() - self._used)

    def _on_collection(self, phase: str, _: object) -> None:
        now = time.perf_counter()
        if phase == "start":
            self._collecting = now
        else:
            self.collection = max(self.collection, now - self._collecting)


class Counter:
    """Counts what a handler is called with."""

    def __init__(self) -> None:
        self.adds = self.updates = 0

    def on_add(self, _: object) -> None:
        """Count an add."""
        self.adds += 1

    def on_update(self, _old: object, _new: object) -> None:
        """Count an update."""
        self.updates += 1


def add_counter(informer: Pods, resync: float | None = None) -> tuple[Counter, Any]:
    """Add a handler that counts; returns what it counts, and its registration."""
    counter = Counter()
    registration = informer.add_event_handler(on_add=counter.on_add, on_update=counter.on_update, resync=resync)
    return counter, registration


class Bench:
    """An informer over many pods, and the steps that are measured."""

    def __init__(self, client: Client, count: int) -> None:
        self.client = client
        self.count = count

    def _informer(self, *, hold: Hold = "lazy", watch_list: bool = True, resync: float = 0.0) -> Pods:
        source = self.client.core_v1.pods()
        return SharedInformer(source, hold=hold, watch_list=watch_list, resync=resync)

    async def _sync(self, informer: Pods) -> None:
        await informer.wait_for_cache_sync(_PATIENCE, handlers=True)
        if len(informer.indexer) != self.count:
            raise RuntimeError(f"there should be {self.count} pods, and there are {len(informer.indexer)}")

    @contextlib.asynccontextmanager
    async def _synced(self, *, watch_list: bool = True, resync: float = 0.0) -> AsyncGenerator[Pods]:
        async with self._informer(watch_list=watch_list, resync=resync) as informer:
            await self._sync(informer)
            yield informer

    async def _first_state(self, *, hold: Hold = "lazy", watch_list: bool = True) -> Heartbeat:
        informer = self._informer(hold=hold, watch_list=watch_list)
        add_counter(informer)
        with Heartbeat() as heartbeat:
            await informer.start()
            await self._sync(informer)
        return heartbeat

    async def watch_list(self) -> Heartbeat:
        """The first state, as initial events of a watch."""
        return await self._first_state()

    async def list(self) -> Heartbeat:
        """The first state, as one list."""
        return await self._first_state(watch_list=False)

    async def compact(self) -> Heartbeat:
        """The first state, stored compressed."""
        return await self._first_state(hold="compact")

    async def _relist(self, *, watch_list: bool = True) -> Heartbeat:
        async with self._synced(watch_list=watch_list) as informer:
            add_counter(informer)
            await self._sync(informer)
            with Heartbeat() as heartbeat:
                await self.client.rest.get("/expire")
                await _until(lambda: bool(informer.health.relists) and informer.health.state == "watching")
            return heartbeat

    async def relist(self) -> Heartbeat:
        """The whole state once more, by watch-list, compared with the store."""
        return await self._relist()

    async def relist_by_list(self) -> Heartbeat:
        """The whole state once more, by list, compared with the store."""
        return await self._relist(watch_list=False)

    async def resync(self) -> Heartbeat:
        """Every object once more, to a handler that is due."""
        async with self._synced(resync=1.0) as informer:
            with Heartbeat() as heartbeat:
                counter, handler = add_counter(informer, resync=1.0)
                await handler.wait_for_cache_sync(_PATIENCE)
                heartbeat.pause = heartbeat.cpu = heartbeat.collection = 0.0
                await _until(lambda: counter.updates >= self.count)
            return heartbeat

    async def late_handler(self) -> Heartbeat:
        """A handler that is added once everything is there."""
        async with self._synced() as informer:
            with Heartbeat() as heartbeat:
                await add_counter(informer)[1].wait_for_cache_sync(_PATIENCE)
            return heartbeat

    async def save(self) -> Heartbeat:
        """A snapshot is written."""
        async with self._synced() as informer:
            with tempfile.TemporaryDirectory() as folder, Heartbeat() as heartbeat:
                await informer.save(Path(folder) / "snapshot")
            return heartbeat

    async def seed(self) -> Heartbeat:
        """A snapshot is read."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot"
            async with self._synced() as informer:
                await informer.save(path)
            seeded = self._informer()
            with Heartbeat() as heartbeat:
                await seeded.seed(path)
            return heartbeat


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a benchmark may poll
        await asyncio.sleep(0.01)


STEPS: Final[dict[str, Callable[[Bench], Awaitable[Heartbeat]]]] = {
    "list": Bench.list,
    "watch_list": Bench.watch_list,
    "compact": Bench.compact,
    "relist": Bench.relist,
    "relist_by_list": Bench.relist_by_list,
    "resync": Bench.resync,
    "late_handler": Bench.late_handler,
    "save": Bench.save,
    "seed": Bench.seed,
}
"""What is measured, by the names that the JSON has."""


async def measured(step: str, kubeconfig: str, count: int) -> Figures:
    """Measure one step."""
    async with Client(kubeconfig=kubeconfig) as client:
        heartbeat = await STEPS[step](Bench(client, count))
        # Here, because taking the client and the pods down takes long and is no step of an informer.
        found = {"pause": heartbeat.pause, "cpu": heartbeat.cpu, "collection": heartbeat.collection}
        print(json.dumps(found), flush=True)
        os._exit(0)


def main() -> None:
    """Take one measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("kubeconfig")
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    asyncio.run(measured(options.step, options.kubeconfig, options.count))


if __name__ == "__main__":
    main()
