"""A server with many ConfigMaps, in a process of its own.

    python -m benchmarks.sharding.server fill DATA N       make a data file
    python -m benchmarks.sharding.server serve DATA GATE   serve it, with the feature gate on (1) or off (0)

It prints its address, then serves until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import masthead.aio
import masthead.server
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config

WRITERS = 16
NAMESPACE = "default"
_DATA = {f"key-{number}": "value of some length " * 4 for number in range(8)}


async def fill(data: Path, count: int) -> None:
    """Create the objects."""
    async with (
        masthead.server.run(data=data, token=None, bootstrap=False) as server,
        masthead.aio.Client(Config(server=server.url)) as client,
        asyncio.TaskGroup() as tasks,
    ):
        maps = client.core_v1.config_maps(NAMESPACE)

        async def write(first: int) -> None:
            for number in range(first, count, WRITERS):
                await maps.create(ConfigMap.new(f"map-{number:06d}", labels={"app": "shop"}, data=_DATA))

        for first in range(WRITERS):
            tasks.create_task(write(first))


async def serve(data: Path, *, gate: bool) -> None:
    """Serve a data file."""
    running = masthead.server.run(data=data, token=None, bootstrap=False, sharded_list_and_watch=gate)
    async with running as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Fill a file, or serve it."""
    what, data, argument = sys.argv[1:4]
    if what == "fill":
        asyncio.run(fill(Path(data), int(argument)))
    else:
        asyncio.run(serve(Path(data), gate=argument == "1"))


if __name__ == "__main__":
    main()
