"""Masthead's informers of ConfigMaps, one per namespace, as `benchmarks.connections.program` expects them.

python -m benchmarks.connections.worker --kubeconfig FILE --namespaces NAME,NAME
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.harness.measure import resident_bytes
from masthead.aio import Client, SharedInformer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead.api.core.v1 import ConfigMap


def say(line: Mapping[str, Any]) -> None:
    """Print a line of JSON."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def count_sockets() -> int | None:
    """Open sockets of this process; None where the platform does not list them."""
    if not Path("/proc/self/fd").is_dir():
        return None
    count = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor of the listing itself
            count += str(descriptor.readlink()).startswith("socket:")
    return count


def stats() -> dict[str, Any]:
    """CPU, memory and sockets of this process."""
    return {
        "cpu_seconds": time.process_time(),
        "rss_bytes": resident_bytes(os.getpid()),
        "sockets": count_sockets(),
    }


class Reporter:
    """Reports the tick of each object that an informer dispatches.

    Args:
        number: The position of the informer.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def on_add(self, config_map: ConfigMap) -> None:
        """Report a new object."""
        say({"informer": self._number, "tick": (config_map.data or {}).get("tick", "")})

    def on_update(self, _: ConfigMap, config_map: ConfigMap) -> None:
        """Report a changed object."""
        self.on_add(config_map)


async def run(kubeconfig: str, namespaces: list[str]) -> None:
    """Run informers until stdin ends."""
    async with Client(kubeconfig=kubeconfig) as client, contextlib.AsyncExitStack() as running:
        before = stats()
        started = time.perf_counter()
        informers: list[SharedInformer[ConfigMap]] = []
        for number, namespace in enumerate(namespaces):
            informer = SharedInformer(client.core_v1.config_maps(namespace))
            reporter = Reporter(number)
            informer.add_event_handler(on_add=reporter.on_add, on_update=reporter.on_update)
            await running.enter_async_context(informer)
            informers.append(informer)
        await asyncio.gather(*(informer.wait_for_cache_sync(300, handlers=True) for informer in informers))
        synced = stats()
        say(
            {
                **synced,
                "synced": True,
                "seconds": time.perf_counter() - started,
                "cpu_seconds": synced["cpu_seconds"] - before["cpu_seconds"],
                "rss_before": before["rss_bytes"],
            }
        )
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while await lines.readline():
            say(stats())


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespaces", required=True, type=lambda text: text.split(","))
    options = parser.parse_args()
    asyncio.run(run(options.kubeconfig, options.namespaces))


if __name__ == "__main__":
    main()
