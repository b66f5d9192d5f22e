"""One replica, in a process of its own.

    python -m benchmarks.sharding.worker URL REPLICAS OBJECTS

It joins the group, says ``ready`` when it has its share, and waits for a line. Then it fills its cache with its share,
passes every object through a work queue, and prints what that took as JSON. It stays until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING

from benchmarks.requests.worker import Growth
from benchmarks.sharding.server import NAMESPACE
from masthead.aio import Client, SharedInformer, WorkQueue
from masthead.aio.sharding import ShardMember
from masthead.config import Config
from masthead.errors import QueueClosedError

if TYPE_CHECKING:
    from benchmarks.harness.measure import Figures
    from masthead.api.core.v1 import ConfigMap
    from masthead.sharding import ShardSet

SLOTS = 64
WORKERS = 4


async def joined(client: Client, replicas: int) -> ShardSet:
    """Join the group, and wait until each replica has its share."""
    settled: asyncio.Future[ShardSet] = asyncio.get_running_loop().create_future()

    async def on_change(share: ShardSet) -> None:
        if len(share) in {SLOTS // replicas, SLOTS // replicas + bool(SLOTS % replicas)} and not settled.done():
            settled.set_result(share)

    member = ShardMember(
        client, "benchmark", NAMESPACE, slots=SLOTS, lease_duration=5, renew_deadline=4, retry_period=0.5
    )
    tasks.add(asyncio.get_running_loop().create_task(member.run(on_change)))
    return await settled


tasks: set[asyncio.Task[None]] = set()


async def filled(client: Client, share: ShardSet) -> Figures:
    """Measure what it takes to hold a share, and to reconcile each object of it once."""
    maps = client.core_v1.config_maps(NAMESPACE)
    await maps.list(limit=1)  # so that all is there that is made once
    growth = Growth()
    informer: SharedInformer[ConfigMap] = SharedInformer(maps)
    await informer.select_shards(share)
    queue = WorkQueue[str]("benchmark")
    done: set[str] = set()

    async def work() -> None:
        while True:
            try:
                key = await queue.get()
            except QueueClosedError:
                return
            assert informer.indexer.get_by_key(key) is not None
            done.add(key)
            queue.done(key)

    informer.add_event_handler(on_add=lambda obj: queue.add(obj.key))
    async with informer:
        workers = [asyncio.get_running_loop().create_task(work()) for _ in range(WORKERS)]
        await informer.wait_for_cache_sync(handlers=True)
        while len(queue) or len(done) < len(informer.indexer):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        figures = growth.so_far("")
        figures["objects"] = float(len(done))
        figures["received"] = float(len(done) + informer.health.other_shards)
        print(json.dumps(figures), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for worker in workers:
            worker.cancel()
        return figures


async def main() -> None:
    """Take the measurements of one replica."""
    url, replicas = sys.argv[1], int(sys.argv[2])
    async with Client(Config(server=url)) as client:
        share = await joined(client, replicas)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await filled(client, share)
    os._exit(0)  # taking all objects down takes as long as making them


if __name__ == "__main__":
    asyncio.run(main())
