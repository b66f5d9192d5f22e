"""``python -m benchmarks.streams.copy_server KUBECONFIG``: a server with a pod ``web`` that runs local programs.

So what is measured are clients, a server and tar, and not the tar of the built-in shell.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from asyncio.subprocess import PIPE
from typing import TYPE_CHECKING, Final

import masthead
import masthead.server

if TYPE_CHECKING:
    from masthead.server import ExecProcess

_PIECE: Final = 2**18


async def execute(process: ExecProcess) -> int:
    """Run a command on this machine."""
    running = await asyncio.create_subprocess_exec(*process.argv, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    assert running.stderr is not None
    async with asyncio.TaskGroup() as tasks:
        feeding = tasks.create_task(_feed(process, running.stdin))
        tasks.create_task(_pass_on(running.stdout, process.stdout))
        tasks.create_task(_pass_on(running.stderr, process.stderr))
        code = await running.wait()
        feeding.cancel()  # it may wait for a client that cannot say that all was sent
    return code


async def _feed(process: ExecProcess, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await process.stdin.read(_PIECE):
            target.write(data)
            await target.drain()
    target.close()


async def _pass_on(source: asyncio.StreamReader, target: masthead.server.OutputStream) -> None:
    while data := await source.read(_PIECE):
        await target.write(data)


def main() -> None:
    """Serve until the process is terminated."""
    with masthead.server.run() as server, masthead.Client(kubeconfig=server.kubeconfig()) as client:
        containers = [{"name": "app", "image": "app"}]
        client.core_v1.pods("default").create({"metadata": {"name": "web"}, "spec": {"containers": containers}})
        server.kubelet.start("web")
        server.kubelet.exec("web")(execute)
        server.write_kubeconfig(sys.argv[1])
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
