"""Attach: connects a client to the further output of a container, and to the stdin of its main process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.records import STDERR, STDOUT, LogFormatter

if TYPE_CHECKING:
    from masthead_server.kubelet.containers import ContainerInstance, MainStdio
    from masthead_server.kubelet.process import ExecProcess

__all__ = ["attach"]

_PIECE: Final = 32 * 1024


async def attach(process: ExecProcess, container: ContainerInstance) -> int:
    """Send what a container prints until it ends.

    Args:
        process: The client, as a command.
        container: The container.
    """
    log = container.log
    stdout, stderr = LogFormatter(stream=STDOUT), LogFormatter(stream=STDERR)
    async with asyncio.TaskGroup() as group:
        forwarding = group.create_task(_forward(process, container))
        try:
            async for records in log.records(log.tail, follow=True):
                if shown := stdout.format(records):
                    await process.stdout.write(shown)
                if shown := stderr.format(records):
                    await process.stderr.write(shown)
        except BrokenPipeError:
            pass  # the client has disconnected
        finally:
            forwarding.cancel()
    return 0


async def _forward(process: ExecProcess, container: ContainerInstance) -> None:
    """Forward the client's input to the main process, if there is one."""
    main = container.main
    if main is None:
        return
    async with asyncio.TaskGroup() as group:
        resizing = group.create_task(_forward_sizes(process, main))
        try:
            while data := await process.stdin.read(_PIECE):
                await main.stdin.feed(data)
        finally:
            # The client has ended its stdin, or has disconnected.
            if main.is_stdin_once:
                main.stdin.close()
            resizing.cancel()


async def _forward_sizes(process: ExecProcess, main: MainStdio) -> None:
    async for size in process.resizes():
        main.sizes.put(size)
