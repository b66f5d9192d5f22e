"""``python -m benchmarks.streams.server KUBECONFIG``: an embedded server whose pod ``web`` does what is measured."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Final

import masthead
import masthead.server

if TYPE_CHECKING:
    import asyncio

FLOOD: Final = 7001
"""The port that sends as many bytes as the first line asks for."""
SINK: Final = 7002
"""The port that reads everything, and answers with the number of bytes."""
_PIECE: Final = bytes(2**18)


async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send as many bytes as are asked for."""
    left = int(await reader.readline())
    while left > 0:
        writer.write(_PIECE[:left])
        left -= len(_PIECE)
        await writer.drain()


async def sink(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Count the bytes that arrive: so many as the first line says, or all."""
    expected, count = int(await reader.readline()), 0
    while count < expected and (data := await reader.read(2**18)):
        count += len(data)
    writer.write(b"%d" % count)


def main() -> None:
    """Serve until the process is terminated."""
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        containers = [{"name": "app", "image": "app"}]
        client.core_v1.pods("default").create({"metadata": {"name": "web"}, "spec": {"containers": containers}})
        server.kubelet.start("web")
        server.kubelet.listen("web", FLOOD, flood)
        server.kubelet.listen("web", SINK, sink)
        server.write_kubeconfig(sys.argv[1])
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
