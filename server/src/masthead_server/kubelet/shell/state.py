"""The state of the built-in shell."""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from masthead_server.head_limits import Budget
from masthead_server.kubelet.filesystem import normalize
from masthead_server.kubelet.pod_host import UNKNOWN_HOST
from masthead_server.kubelet.shell.jobs import BackgroundJobs
from masthead_server.kubelet.shell.variables import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from masthead_server.clock import Clock
    from masthead_server.kubelet.filesystem import FileSystem
    from masthead_server.kubelet.pod_host import PodHost
    from masthead_server.kubelet.shell.nodes import Compound, FunctionDefinition, Script
    from masthead_server.kubelet.shell.signals import ShellProcess
    from masthead_server.kubelet.shell.streams import Input, ShellOutput
    from masthead_server.kubelet.shell.variables import ShellVariables, VariableScope
    from masthead_server.process_activity import ProcessObserver

__all__ = ["CommandIO", "Interpreter", "OptionPosition", "ShellState", "Streams"]

_MAX_PROCESSES: Final = 256
_MAX_HELD: Final = 4 * MAX_TEXT
_WORD_SIZE: Final = 16
"""Characters that a word counts beside its own."""
_MAX_FUNCTIONS: Final = 1000
_MAX_FUNCTION_TEXT: Final = 1024 * 1024
"""Characters of all functions together."""


class Interpreter(Protocol):
    """Runs scripts and commands, for builtins that do so."""

    async def run_text(self, text: str, io: CommandIO) -> int:
        """Run a text in the current shell; return the exit code."""
        ...

    async def run_script(self, script: Script, io: CommandIO) -> int:
        """Run a parsed script in the current shell; return the exit code."""
        ...

    async def run_compound(self, command: Compound, io: CommandIO) -> int:
        """Run a compound command in the current shell; return the exit code."""
        ...

    async def run_words(self, words: Sequence[str], io: CommandIO, *, skips_functions: bool = False) -> int:
        """Run a command in the current shell; return the exit code."""
        ...

    async def run_program(self, words: Sequence[str], io: CommandIO, *, replaces_shell: bool = False) -> int:
        """Run a program, which is no builtin; return the exit code.

        Args:
            words: The command.
            io: Its streams.
            replaces_shell: Whether it takes the place of the current shell, as with ``exec``.
        """
        ...


class Streams(NamedTuple):
    """The standard streams that ``exec`` has redirected."""

    stdin: Input
    stdout: ShellOutput
    stderr: ShellOutput


class OptionPosition(NamedTuple):
    """Where ``getopts`` continues: the value of ``OPTIND``, the number of the word, and the place of the letter."""

    next_word: int
    word: int
    letter: int


@dataclass(slots=True)
class ShellState:
    """The state of a shell.

    Attributes:
        files: The file system.
        clock: The server's clock.
        interpreter: Runs scripts.
        variables: The variables.
        process: The process of this shell.
        observer: Observes the tasks of this shell and of everything that it starts.
        cwd: The working directory.
        host: The host.
        arguments: ``$0``, ``$1`` and so on.
        status: The exit code of the last command.
        substitution_status: The exit code of the last ``$(…)`` of the command that runs.
        options: The letters and long names of the options that are set.
        functions: The functions by their names.
        scopes: The variables that the running functions hide, a scope for each of them.
        streams: The streams that ``exec`` has redirected.
        conditions: The number of conditions that are being evaluated: they do not end a shell with ``set -e``.
        loops: The number of loops around the command that runs.
        depth: The number of scripts around the command that runs.
        options_read: The position of ``getopts``.
        held_size: The size of the lists of words that loops and callers of functions hold.
        processes: How many commands of pipelines run; shared by all copies.
        jobs: The commands in the background.
    """

    files: FileSystem
    clock: Clock
    interpreter: Interpreter
    variables: ShellVariables
    process: ShellProcess
    observer: ProcessObserver
    cwd: str = "/"
    host: PodHost = UNKNOWN_HOST
    arguments: tuple[str, ...] = ("sh",)
    status: int = 0
    substitution_status: int = 0
    options: frozenset[str] = frozenset()
    functions: dict[str, FunctionDefinition] = field(default_factory=dict[str, "FunctionDefinition"])
    scopes: list[VariableScope] = field(default_factory=list["VariableScope"])
    streams: Streams | None = None
    conditions: int = 0
    loops: int = 0
    depth: int = 0
    options_read: OptionPosition = field(default_factory=lambda: OptionPosition(1, 1, 1))
    held_size: int = 0
    processes: Budget = field(default_factory=lambda: Budget(_MAX_PROCESSES))
    jobs: BackgroundJobs = field(default_factory=BackgroundJobs)

    def fork(self) -> ShellState:
        """Return a copy for a subshell, whose changes do not affect this state."""
        # Files, clock and the count of processes are shared; variables are not.
        return replace(
            self,
            variables=self.variables.copy(),
            process=self.process.fork(),
            functions=dict(self.functions),
            scopes=[{}] if self.scopes else [],
            streams=None,
            jobs=BackgroundJobs(self.jobs),
        )

    def execute(self, process: ShellProcess | None = None) -> ShellState:
        """Return the state of a program: exported variables, and nothing else of the shell."""
        return ShellState(
            self.files,
            self.clock,
            self.interpreter,
            self.variables.exported_copy(),
            self.process.start_program() if process is None else process,
            self.observer,
            self.cwd,
            self.host,
            depth=self.depth,
            held_size=self.held_size,
            processes=self.processes,
            jobs=BackgroundJobs(self.jobs),
        )

    def define(self, function: FunctionDefinition) -> None:
        """Define a function.

        Raises:
            OSError: If there are too many functions.
        """
        others = [known for known in self.functions.values() if known.name != function.name]
        if len(others) >= _MAX_FUNCTIONS or sum(known.size for known in others) + function.size > _MAX_FUNCTION_TEXT:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        self.functions[function.name] = function

    def expand(self, parts: Iterable[str]) -> str:
        """Join the parts of a word.

        Raises:
            OSError: If it is too long.
        """
        joined, left = list[str](), MAX_TEXT
        for part in parts:
            left -= len(part)
            # Before joining: "a=$a$a" doubles a variable with every line.
            if left < 0:
                raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
            joined.append(part)
        return "".join(joined)

    @contextmanager
    def hold(self, words: Sequence[str]) -> Generator[None]:
        """Count the words of a loop or a caller while they are needed.

        Raises:
            OSError: If there are too many of them.
        """
        # A function may call itself within loops over many words.
        size = sum(map(len, words)) + _WORD_SIZE * len(words)
        if self.held_size + size > _MAX_HELD:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        self.held_size += size
        try:
            yield
        finally:
            self.held_size -= size

    def assign(self, name: str, value: str) -> None:
        """Set a variable.

        Raises:
            OSError: If it is read-only, or all variables together are too long.
        """
        self.variables.assign(name, value, exports="a" in self.options)

    def path(self, path: str) -> str:
        """Return the absolute path of a path."""
        return normalize(path, self.cwd)

    async def sleep(self, seconds: float) -> None:
        """Wait on the server's clock."""
        over = asyncio.Event()
        timer = self.clock.call_later(seconds, over.set)
        try:
            await self.wait(over)
        finally:
            timer.cancel()

    async def wait(self, event: asyncio.Event) -> None:
        """Wait for an event, or a signal."""
        # A signal ends the wait; the trap runs next.
        self.process.sleepers.add(event)
        try:
            await event.wait()
        finally:
            self.process.sleepers.discard(event)


@dataclass(frozen=True, slots=True)
class CommandIO:
    """The streams of a command."""

    stdin: Input
    stdout: ShellOutput
    stderr: ShellOutput
    state: ShellState = field(repr=False)

    async def print(self, text: str) -> None:
        """Print a line."""
        # Names of files may be any bytes.
        await self.stdout.write(f"{text}\n".encode("utf-8", "surrogateescape"))

    async def complain(self, text: str) -> None:
        """Print a line on stderr."""
        await self.stderr.write(f"{text}\n".encode("utf-8", "surrogateescape"))
