"""A process at the local terminal."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from masthead.errors import ClosedError, TransportError

if TYPE_CHECKING:
    from masthead._client.remotecommand.process import RemoteProcess
    from masthead._client.remotecommand.terminal import Terminal

__all__ = ["converse"]


async def converse(process: RemoteProcess, terminal: Terminal, *, redraw: bool = False) -> int:
    """Connect a process with a TTY to the terminal until it ends, and return its exit code.

    Args:
        process: The process, not started yet.
        terminal: The terminal, in raw mode.
        redraw: Whether the process runs already and has to redraw its screen, as after a change of its size.

    Raises:
        StatusError: If the server refuses.
        ExecError: If the command could not be run.
        TransportError: If the connection is lost.
    """
    async with process:
        if redraw:
            width, height = terminal.size
            # A program redraws only if the size differs from the one that it knows.
            await process.resize(width + 1, height + 1)
        try:
            async with asyncio.TaskGroup() as tasks:
                senders = [
                    tasks.create_task(_send_typed(process, terminal)),
                    tasks.create_task(_send_sizes(process, terminal)),
                ]
                async for chunk in process.stdout:
                    await terminal.write(chunk)
                # They wait for input that may never come.
                for sender in senders:
                    sender.cancel()
        except BaseExceptionGroup as errors:
            failure = errors.exceptions[0]
        else:
            return await process.wait()
        raise failure  # outside the except clause, so that it has no context


async def _send_typed(process: RemoteProcess, terminal: Terminal) -> None:
    with suppress(TransportError, ClosedError):  # the session ends with the reason
        async for data in terminal.read_input():
            await process.stdin.write(data)


async def _send_sizes(process: RemoteProcess, terminal: Terminal) -> None:
    with suppress(TransportError, ClosedError):
        async for width, height in terminal.resizes():
            await process.resize(width, height)
