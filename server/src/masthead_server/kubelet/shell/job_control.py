"""``wait`` and ``kill``: the builtins for commands in the background."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.control import ShellExit

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import ShellState

__all__ = ["kill", "wait"]

_SHELL: Final = 1
"""The process id of the shell."""
_TERMINATED: Final = 143
_KILLED: Final = 137
_SIGNALS: Final = {"15": "TERM", "2": "INT", "9": "KILL"}


async def wait(arguments: list[str], state: ShellState) -> int:
    """Wait for commands in the background; a signal ends the wait."""
    wanted = [int(word) for word in arguments if re.fullmatch("[0-9]{1,9}", word)]
    running, signals, over = state.jobs.running(wanted), state.signals, asyncio.Event()
    for task in running:
        task.add_done_callback(lambda _: over.set())
    if signals is not None:
        signals.sleepers.add(over)
    try:
        while not all(task.done() for task in running):
            over.clear()
            await over.wait()
            if signals is not None and signals.is_pending:
                return _TERMINATED
    finally:
        if signals is not None:
            signals.sleepers.discard(over)
    return (state.jobs.status_of(wanted[-1]) or 0) if wanted else 0


def kill(arguments: list[str], state: ShellState) -> int:
    """Send a signal to a command in the background, or to the shell itself.

    Raises:
        ShellExit: If the signal ends the shell.
    """
    option = next((word for word in arguments if word.startswith("-")), "-TERM")
    signal = option.lstrip("-").removeprefix("SIG")
    targets = [int(word.lstrip("%")) for word in arguments if re.fullmatch("%?[0-9]{1,9}", word)]
    status = 0 if targets else 1
    for number in targets:
        if signal == "0":
            status = int(number != _SHELL and all(task.done() for task in state.jobs.running([number])))
        elif number != _SHELL:
            status = int(not state.jobs.kill(number))
        else:
            _signal_shell(_SIGNALS.get(signal, signal), state)
    return status


def _signal_shell(signal: str, state: ShellState) -> None:
    if signal == "KILL":
        raise ShellExit(_KILLED)
    if state.signals is None or not state.signals.deliver(signal):
        raise ShellExit(_TERMINATED)
