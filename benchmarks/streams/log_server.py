"""The embedded server, with pods whose logs are full, or grow.

python -m benchmarks.streams.log_server KUBECONFIG --pods 100 --lines 10000 --rate 0
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

import masthead.aio
import masthead.server
from benchmarks.harness.measure import positive
from masthead.config import Config

if TYPE_CHECKING:
    from masthead.server import Server

_LINE: Final = 'level=info ts=2026-01-01T00:00:00Z msg="request served" path=/api/items status=200 n={:08}\n'
_TICK: Final = 0.02


def names(count: int) -> list[str]:
    """The names of the pods."""
    return [f"web-{number}" for number in range(count)]


async def _fill(server: Server, pods: int, lines: int) -> None:
    text = "".join(_LINE.format(number) for number in range(lines))
    async with masthead.aio.Client(Config(server=server.url)) as client:
        for name in names(pods):
            spec = {"containers": [{"name": "app", "image": "image"}]}
            await client.core_v1.pods("default").create({"metadata": {"name": name}, "spec": spec})
            server.kubelet.start(name)
            server.kubelet.log(name).write(text)


async def _grow(server: Server, pods: int, rate: int) -> None:
    """Write so many lines a second, in small pieces, to all pods alike."""
    loop = asyncio.get_running_loop()
    start, written = loop.time(), 0
    while True:
        await asyncio.sleep(_TICK)
        due = int((loop.time() - start) * rate / pods)
        text = "".join(_LINE.format(number) for number in range(written, due))
        for name in names(pods):
            server.kubelet.log(name).write(text)
        written = due


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with masthead.server.run(token=None, bootstrap=False) as server:
        server.write_kubeconfig(options.kubeconfig)
        await _fill(server, options.pods, options.lines)
        gc.freeze()
        print(server.url, flush=True)
        async with asyncio.TaskGroup() as tasks:
            growth = tasks.create_task(_grow(server, options.pods, options.rate)) if options.rate else None
            await stop.wait()
            if growth is not None:
                growth.cancel()


def main() -> None:
    """Serve until it is stopped."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig", type=Path, help="where to write it")
    parser.add_argument("--pods", type=positive, default=100)
    parser.add_argument("--lines", type=int, default=0, help="lines that each log has")
    parser.add_argument("--rate", type=int, default=0, help="lines a second of all logs together")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
