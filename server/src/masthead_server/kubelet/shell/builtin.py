"""Runs a process by the built-in shell."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.kubelet.shell.builtin_table import is_builtin
from masthead_server.kubelet.shell.commands import COMMANDS
from masthead_server.kubelet.shell.control import ShellExit, ShellFailure, UsageError
from masthead_server.kubelet.shell.interpreter import ScriptInterpreter
from masthead_server.kubelet.shell.nodes import command_names
from masthead_server.kubelet.shell.options import read_shell_options
from masthead_server.kubelet.shell.processes import run_process
from masthead_server.kubelet.shell.programs import BIN_FOLDERS, SHELL_OPTIONS, SHELLS, read_script
from masthead_server.kubelet.shell.state import CommandIO, ShellState
from masthead_server.kubelet.shell.streams import Input
from masthead_server.kubelet.shell.syntax import ShellSyntaxError, parse
from masthead_server.kubelet.shell.terminal import LineDiscipline
from masthead_server.kubelet.shell.variables import ShellVariables

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from masthead_server.clock import Clock
    from masthead_server.kubelet.filesystem import FileSystem
    from masthead_server.kubelet.process import ExecProcess
    from masthead_server.kubelet.shell.signals import ShellProcess
    from masthead_server.kubelet.stdio import OutputStream
    from masthead_server.process_activity import ProcessObserver

__all__ = ["ExecutableNotFoundError", "commands_of", "is_known", "is_runnable", "problem_with_script", "run_builtin"]

_PIECE: Final = 32 * 1024
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_PROMPTS: Final = ("# ", "> ")
_MAX_LINES: Final = 64
"""Lines of a terminal that wait to be read."""
_INTERACTIVE: Final = frozenset({"-i", "-l", "-", "-il", "-li"})


class ExecutableNotFoundError(Exception):
    """There is no such command, in the words of a container runtime."""

    def __init__(self, name: str) -> None:
        super().__init__(f'exec: "{name}": executable file not found in $PATH')


def is_known(name: str) -> bool:
    """Tell whether there is a command of a name."""
    return is_builtin(name) or _is_program(name)


def _is_program(name: str) -> bool:
    base = name.rpartition("/")[2] if name.startswith(BIN_FOLDERS) else name
    return name in SHELLS or base in COMMANDS


def is_runnable(argv: Sequence[str]) -> bool:
    """Tell whether a command is known, and for ``sh -c`` every command of the script."""
    if not argv or not is_known(argv[0]):
        return False
    if argv[0] in SHELLS and len(argv) == 1:
        return True
    names = commands_of(argv)
    return names is not None and all(map(is_known, names))


def commands_of(argv: Sequence[str]) -> list[str] | None:
    """Return the names of all commands that a command runs, also within ``sh -c``; None if unknown."""
    if argv[0] not in SHELLS:
        return [argv[0]]
    text = _script_of(argv)
    # A script in a file may not exist before the container runs.
    if text is None:
        return None
    try:
        return list(command_names(parse(text)))
    except ShellSyntaxError:
        return None


def problem_with_script(argv: Sequence[str]) -> str:
    """Return why the script of a shell cannot run; empty if it can, and for commands that are no shell."""
    if not argv or argv[0] not in SHELLS or is_runnable(argv):
        return ""
    text = _script_of(argv)
    if text is None:
        return "the built-in shell runs only scripts of sh -c"
    try:
        names = command_names(parse(text))
    except ShellSyntaxError as error:
        return f"the built-in shell does not understand it: {error}"
    unknown = dict.fromkeys(name for name in names if not is_known(name))
    if "" in unknown:
        return "the name of one of its programs is in a variable"
    return f"the built-in shell has no {', '.join(map(quoted, unknown))}"


def _script_of(argv: Sequence[str]) -> str | None:
    """The script of ``sh -c``; None without one."""
    try:
        found = read_shell_options(argv[1:], frozenset(), SHELL_OPTIONS)
    except UsageError:
        return None
    return found.operands[0] if "c" in found.others and found.operands else None


async def run_builtin(
    process: ExecProcess, files: FileSystem, clock: Clock, shell_process: ShellProcess, observer: ProcessObserver
) -> int:
    """Run a command; return the exit code.

    Args:
        process: The command and its streams.
        files: The files of the container.
        clock: The server's clock.
        shell_process: Its id and signals.
        observer: Observes the tasks that it starts.

    Raises:
        ExecutableNotFoundError: If there is no such command.
        BrokenPipeError: If the client has disconnected.
    """
    # A runtime starts programs; "exit" belongs to the shell.
    if not _is_program(process.argv[0]):
        raise ExecutableNotFoundError(process.argv[0])
    line, interpreter = process.line, ScriptInterpreter()
    variables = ShellVariables(line.env)
    state = ShellState(
        files,
        clock,
        interpreter,
        variables,
        shell_process,
        observer,
        line.working_dir,
        line.host,
        arguments=(line.argv[0],),
    )
    try:
        if process.is_tty:
            terminal = _Terminal(process, state)
            return await run_process(terminal.run, terminal.io)
        io = CommandIO(Input(process.stdin.read), process.stdout, process.stderr, state)
        return await run_process(partial(_run_program, process.argv, io), io)
    finally:
        state.jobs.close()


async def _run_program(words: Sequence[str], io: CommandIO) -> int:
    return await io.state.interpreter.run_program(words, io, replaces_shell=True)


class _TerminalInput:
    """The lines of a terminal; an end (Ctrl-D) ends one read, and the next one continues."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue(_MAX_LINES)
        self._rest = b""
        self._is_closed = False

    async def put(self, line: bytes) -> None:
        """Add a line, or an empty one for an end; wait while the queue is full."""
        await self._lines.put(line)

    async def close(self) -> None:
        """End the input for good."""
        self._is_closed = True
        await self._lines.put(b"")

    async def read(self, size: int) -> bytes:
        """Read up to so many bytes; empty at an end."""
        if not self._rest and not (self._is_closed and self._lines.empty()):
            self._rest = await self._lines.get()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


class _TerminalOutput:
    """Prints to a terminal, which needs a carriage return before each newline."""

    def __init__(self, stream: OutputStream) -> None:
        self._stream = stream

    async def write(self, data: bytes, /) -> None:
        """Print.

        Raises:
            BrokenPipeError: If the client has disconnected.
        """
        await self._stream.write(data.replace(b"\n", b"\r\n"))


class _Terminal:
    """Runs a command with a terminal: keys become lines, and Ctrl-C ends what runs.

    Args:
        process: The command.
        state: The state of the shell.
    """

    def __init__(self, process: ExecProcess, state: ShellState) -> None:
        self._process = process
        self._keys = _TerminalInput()
        self._output = _TerminalOutput(process.stdout)
        self._running: asyncio.Task[tuple[int, bool]] | None = None
        self.io: CommandIO = CommandIO(Input(self._keys.read), self._output, self._output, state)
        """The streams of the command."""

    async def run(self) -> int:
        """Run the command to its end; return the exit code."""
        words = list(self._process.argv)
        # A shell with a script has no prompt.
        is_interactive = words[0] in SHELLS and all(word in _INTERACTIVE for word in words[1:])
        async with asyncio.TaskGroup() as group:
            observe = self.io.state.observer.observe
            reading = group.create_task(observe(self._read(is_interactive=is_interactive)))
            try:
                if is_interactive:
                    return await self._interact(group)
                code, _ = await self._run(group, _run_program(words, self.io))
                return code
            finally:
                reading.cancel()

    async def _interact(self, group: asyncio.TaskGroup) -> int:
        while True:
            code, has_ended = await self._run(group, self._run_line())
            if has_ended:
                return code
            self.io.state.status = code

    async def _run_line(self) -> int:
        state = self.io.state
        try:
            script = await read_script(self.io, _PROMPTS)
            # Ctrl-D on an empty line leaves the shell.
            if script is None:
                raise ShellExit(state.status)
            return await state.interpreter.run_script(script, self.io) if script else state.status
        # Errors end a script, and not a shell with a prompt.
        except ShellFailure as failure:
            return failure.code

    async def _run(self, group: asyncio.TaskGroup, doing: Coroutine[object, object, int]) -> tuple[int, bool]:
        """Run a coroutine in the foreground; return the exit code, and whether the shell ends."""
        self._running = running = group.create_task(self.io.state.observer.observe(_catch_exit(doing)))
        # `wait` does not raise, so that Ctrl-C ends the command and not the shell.
        await asyncio.wait((running,))
        return (_INTERRUPTED, False) if running.cancelled() else running.result()

    async def _read(self, *, is_interactive: bool) -> None:
        discipline = LineDiscipline()
        while keys := await self._process.stdin.read(_PIECE):
            # The echo is lost, and the command reads on.
            with suppress(BrokenPipeError):
                await self._process.stdout.write(discipline.feed(keys))
            if discipline.is_interrupted and self._running is not None:
                self._running.cancel()
                # What runs may be the prompt, which then appears again.
                if not is_interactive:
                    return
            for line in discipline.lines:
                await self._keys.put(line)
        await self._keys.close()


async def _catch_exit(doing: Coroutine[object, object, int]) -> tuple[int, bool]:
    try:
        return await doing, False
    except ShellExit as leaving:
        return leaving.code, True
    except BrokenPipeError:
        return _BROKEN_PIPE, True
