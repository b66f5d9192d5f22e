"""``wait``, ``kill`` and ``trap``: the builtins for processes and signals."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.signals import EXIT, SIGNALS, signal_name
from masthead_server.kubelet.shell.variable_builtins import quote

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.signals import SignalTarget
    from masthead_server.kubelet.shell.state import CommandIO, ShellState

__all__ = ["kill", "trap", "wait"]

_BAD_USE: Final = 2
_NOT_FOUND: Final = 127
_SIGNALLED: Final = 128
_EXISTS: Final = "0"


async def wait(arguments: list[str], io: CommandIO) -> int:
    """Wait for commands in the background; a signal ends the wait."""
    state = io.state
    wanted = [_process_id(word, state) for word in arguments]
    process, over = state.process, asyncio.Event()
    running = state.jobs.running(wanted)
    for task in running:
        task.add_done_callback(lambda _: over.set())
    while not all(task.done() for task in running):
        over.clear()
        await state.wait(over)
        if process.is_pending:
            return process.pending_code
    if not wanted:
        return 0
    status = state.jobs.status_of(wanted[-1])
    return _NOT_FOUND if status is None else status


def _process_id(word: str, state: ShellState) -> int:
    """The process id that a word names, which may be the number of a job."""
    if re.fullmatch("-?[0-9]{1,9}", word):
        return int(word)
    jobs = state.jobs.numbers()
    if word in {"%%", "%+", "%"} and jobs:
        return jobs[-1]
    if re.fullmatch("%[0-9]{1,9}", word) and 0 < int(word[1:]) <= len(jobs):
        return jobs[int(word[1:]) - 1]
    if word.startswith("%"):
        raise UsageError(f"No such job: {word}", _BAD_USE)
    raise UsageError(f"Illegal number: {word}", _BAD_USE)


async def kill(arguments: list[str], io: CommandIO) -> int:
    """Send a signal to processes: ``-TERM``, ``-15``, ``-s TERM``, ``-0``; ``-l`` lists the signals."""
    if arguments[:1] == ["-l"]:
        return await _list_signals(arguments[1:], io)
    signal, words = _read_signal(arguments)
    if not words:
        raise UsageError("usage: kill [-s SIGNAL | -SIGNAL] PID...", _BAD_USE)
    status = 0
    for word in words:
        found = _targets(_process_id(word, io.state), io.state)
        if not found:
            await io.complain(f"kill: can't kill pid {word}: No such process")
            status = 1
        for target in found if signal != _EXISTS else ():
            target.signal(signal)
    # A signal to this process takes effect before the next command.
    io.state.process.check()
    return status


def _read_signal(arguments: list[str]) -> tuple[str, list[str]]:
    rest, text = list(arguments), "TERM"
    if rest[:1] in (["-s"], ["-n"]) and len(rest) > 1:
        text, rest = rest[1], rest[2:]
    elif rest and re.fullmatch(r"-[A-Za-z0-9+]+", rest[0]):
        text = rest.pop(0)[1:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    name = signal_name(text)
    if not name:
        raise UsageError(f"invalid signal number or name: {text}", _BAD_USE)
    return _EXISTS if name == EXIT else name, rest


def _targets(number: int, state: ShellState) -> list[SignalTarget]:
    """The processes with an id: 0 for those of this shell, -1 for all, and a negative one for a group."""
    table = state.process.table
    if number == -1:
        return table.others(state.process.number)
    if number:
        found = table.find(abs(number))
        return [found] if found is not None else []
    jobs = [job for job in map(table.find, state.jobs.numbers()) if job is not None]
    return [*jobs, state.process]


async def _list_signals(words: list[str], io: CommandIO) -> int:
    if not words:
        await io.print("\n".join(SIGNALS))
        return 0
    for word in words:
        # The exit code of a command that a signal has ended names the signal, too.
        number = int(word) - _SIGNALLED if re.fullmatch("1[2-9][0-9]", word) else word
        name = signal_name(str(number))
        if not name or name == EXIT:
            raise UsageError(f"invalid signal number or name: {word}", _BAD_USE)
        await io.print(str(SIGNALS[name]) if word == name else name)
    return 0


async def trap(arguments: list[str], io: CommandIO) -> int:
    """Set the commands that signals run; without arguments, print them."""
    words = arguments[1:] if arguments[:1] == ["--"] else arguments
    traps = io.state.process.traps
    if not words:
        for name, text in traps.items():
            await io.print(f"trap -- {quote(text)} {name}")
        return 0
    # A single word, or a number in front, resets signals.
    resets = words[0] == "-" or len(words) == 1 or words[0].isdigit()
    status = 0
    for word in words[1:] if words[0] == "-" or not resets else words:
        name = signal_name(word)
        if not name:
            await io.complain(f"{io.state.arguments[0]}: trap: {word}: bad trap")
            status = 1
        elif resets:
            traps.pop(name, None)
        else:
            traps[name] = words[0]
    return status
