"""The watcher on masthead: an informer with its default options. `benchmarks.recovery.watchers` has the protocol."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from masthead.aio import Client, SharedInformer

if TYPE_CHECKING:
    from masthead.api.core.v1 import ConfigMap


def report(config_map: ConfigMap) -> None:
    """Print an event."""
    value = config_map.data.get("n") if config_map.data else None
    if value is not None:
        print("seen", config_map.metadata.name, value, flush=True)


async def run() -> None:
    """Watch until the standard input is closed."""
    async with Client() as client:
        informer = SharedInformer(client.core_v1.config_maps("default"))
        informer.add_event_handler(on_add=report, on_update=lambda _, config_map: report(config_map))
        async with informer:
            await informer.wait_for_cache_sync(handlers=True)
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(run())
