"""Runs processes of the shell to their end: subshells, substitutions, pipelines, jobs and programs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.control import LoopControl, ReturnControl, ShellExit, ShellFailure
from masthead_server.kubelet.shell.signals import EXIT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.kubelet.shell.signals import ShellProcess
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["run_child", "run_process", "run_to_end", "run_traps"]

_BAD_USE: Final = 2


async def run_child(running: Callable[[], Awaitable[int]], io: CommandIO, parent: CommandIO) -> int:
    """Run a process that a shell waits for; return the exit code.

    Args:
        running: Runs it.
        io: Its streams and state.
        parent: Those of the shell.

    Raises:
        ShellFailure: If there are too many processes.
        BrokenPipeError: If the reader of its output has closed its end.
    """
    processes = io.state.processes
    # Processes may nest, and a client may write a fork bomb.
    if processes.used >= processes.limit:
        await io.complain(f"{parent.state.arguments[0]}: can't fork: Resource temporarily unavailable")
        raise ShellFailure(_BAD_USE)
    processes.take(1)
    try:
        return await run_process(running, io, parent.state.process)
    finally:
        processes.take(-1)


async def run_process(running: Callable[[], Awaitable[int]], io: CommandIO, parent: ShellProcess | None = None) -> int:
    """Run a process to its end, with its ``EXIT`` trap; return the exit code, also after a signal.

    Args:
        running: Runs it.
        io: Its streams and state.
        parent: The process that waits for it; None for none.

    Raises:
        BrokenPipeError: If the reader of its output has closed its end.
    """
    process = io.state.process
    process.enter(parent)
    try:
        code = await run_to_end(running, io)
    except asyncio.CancelledError:
        # Cancelled by a signal, or together with everything that waits for it?
        if process.code is None or not process.accept_cancellation():
            raise
        return process.code
    finally:
        process.leave(parent)
    return code if process.code is None else process.code


async def run_to_end(running: Callable[[], Awaitable[int]], io: CommandIO) -> int:
    """Run a shell with its ``EXIT`` trap; return the exit code."""
    try:
        code = await running()
    except ShellExit as leaving:
        code = leaving.code
    except ReturnControl as leaving:
        code = leaving.code
    except LoopControl:
        code = 0
    return await _run_exit_trap(code, io)


async def _run_exit_trap(code: int, io: CommandIO) -> int:
    process = io.state.process
    text = process.traps.pop(EXIT, "")
    # A process that a signal ends runs no trap for its end.
    if not text or process.code is not None:
        return code
    io.state.status = code
    try:
        await io.state.interpreter.run_text(text, io)
    except ShellExit as leaving:
        return leaving.code
    except (ReturnControl, LoopControl):
        pass
    return code


async def run_traps(io: CommandIO) -> None:
    """Run the traps of signals that have arrived.

    Raises:
        ShellExit: If a trap exits the shell.
    """
    process, status = io.state.process, io.state.status
    while name := process.take():
        process.is_in_trap = True
        try:
            await io.state.interpreter.run_text(process.traps.get(name, ""), io)
        finally:
            process.is_in_trap = False
        io.state.status = status
        await asyncio.sleep(0)  # a trap may send its own signal again
