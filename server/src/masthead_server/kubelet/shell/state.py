"""Inputs, outputs and state of the built-in shell."""

from __future__ import annotations

import asyncio
import errno
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from masthead_server.head_limits import Budget
from masthead_server.kubelet.filesystem import normalize
from masthead_server.kubelet.pod_host import UNKNOWN_HOST
from masthead_server.kubelet.shell.jobs import BackgroundJobs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from masthead_server.clock import Clock
    from masthead_server.kubelet.filesystem import FileSystem, RegularFile
    from masthead_server.kubelet.pod_host import PodHost
    from masthead_server.kubelet.shell.signals import ShellSignals

__all__ = [
    "CommandIO",
    "FileOutput",
    "Input",
    "NullOutput",
    "ShellOutput",
    "ShellState",
    "copy",
    "file_input",
]

PIECE: Final = 64 * 1024
"""Bytes per step of a copy."""
_MAX_LINE: Final = 1024 * 1024
_MAX_PROCESSES: Final = 256
_MAX_TEXT: Final = 1024 * 1024
"""Characters of a word, and of all variables together."""


class ShellOutput(Protocol):
    """The output of a command."""

    async def write(self, data: bytes, /) -> None:
        """Print.

        Raises:
            BrokenPipeError: If the reader has closed its end.
            OSError: If the file system is full.
        """
        ...


class NullOutput:
    """Drops all output."""

    async def write(self, data: bytes, /) -> None:
        """Drop it."""


class FileOutput:
    """Prints to a file."""

    def __init__(self, file: RegularFile) -> None:
        self._file = file

    async def write(self, data: bytes, /) -> None:
        """Append to the file.

        Raises:
            OSError: If the file system is full.
        """
        self._file.append(data)


class Input:
    """The input of a command, with a buffer for lines and blocks.

    Args:
        read: Reads up to so many bytes; empty at the end.
    """

    def __init__(self, read: Callable[[int], Awaitable[bytes]]) -> None:
        self._read = read
        self._buffer = b""

    async def read(self, size: int) -> bytes:
        """Read up to so many bytes; empty at the end."""
        if self._buffer:
            data, self._buffer = self._buffer[:size], self._buffer[size:]
            return data
        return await self._read(size)

    async def read_exactly(self, size: int) -> bytes:
        """Read so many bytes; fewer at the end."""
        pieces: list[bytes] = []
        while size and (piece := await self.read(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    async def read_line(self) -> bytes:
        """Read a line with its newline; without one at the end, and where the line is too long."""
        line = self._buffer
        # A client may send a line without an end.
        while b"\n" not in line and len(line) < _MAX_LINE:
            piece = await self._read(PIECE)
            if not piece:
                break
            line += piece
        end = line.find(b"\n") + 1 or len(line)
        self._buffer = line[end:]
        return line[:end]


def file_input(file: RegularFile) -> Input:
    """Return an input that reads a file."""
    offset = 0

    async def read(size: int) -> bytes:
        nonlocal offset
        data = file.read(offset, size)
        offset += len(data)
        return data

    return Input(read)


async def no_input(_size: int) -> bytes:
    """Read nothing."""
    return b""


async def copy(source: Input, target: ShellOutput) -> None:
    """Copy all of an input, piece by piece.

    Raises:
        BrokenPipeError: If the reader has closed its end.
        OSError: If the file system is full.
    """
    while data := await source.read(PIECE):
        await target.write(data)
        # Neither files nor buffers wait for anything, and other requests are to have their turn.
        await asyncio.sleep(0)


@dataclass(slots=True)
class ShellState:
    """The state of a shell.

    Attributes:
        files: The file system.
        clock: The server's clock.
        env: The variables.
        cwd: The working directory.
        host: The host.
        arguments: ``$0``, ``$1`` and so on.
        status: The exit code of the last command.
        signals: The traps of the main process, and its signals; None for other commands.
        jobs: The commands in the background.
        processes: How many commands of pipelines run; shared by all copies.
    """

    files: FileSystem
    clock: Clock
    env: dict[str, str]
    cwd: str = "/"
    host: PodHost = UNKNOWN_HOST
    arguments: tuple[str, ...] = ("sh",)
    status: int = 0
    signals: ShellSignals | None = None
    processes: Budget = field(default_factory=lambda: Budget(_MAX_PROCESSES))
    jobs: BackgroundJobs = field(default_factory=BackgroundJobs)

    def fork(self) -> ShellState:
        """Return a copy for a subshell, whose changes do not affect this state."""
        # Files, clock and the count of processes are shared; variables are not.
        return replace(self, env=dict(self.env), jobs=BackgroundJobs(self.jobs))

    def expand(self, parts: Iterable[str]) -> str:
        """Join the parts of a word.

        Raises:
            OSError: If it is too long.
        """
        joined, left = list[str](), _MAX_TEXT
        for part in parts:
            left -= len(part)
            # Before joining: "a=$a$a" doubles a variable with every line.
            if left < 0:
                raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
            joined.append(part)
        return "".join(joined)

    def assign(self, name: str, value: str) -> None:
        """Set a variable.

        Raises:
            OSError: If all variables together are too long.
        """
        old = len(self.env.get(name, ""))
        # Many small variables take memory, too.
        if sum(map(len, self.env)) + sum(map(len, self.env.values())) - old + len(name) + len(value) > _MAX_TEXT:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        self.env[name] = value

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
        if self.signals is not None:
            self.signals.sleepers.add(event)
        try:
            await event.wait()
        finally:
            if self.signals is not None:
                self.signals.sleepers.discard(event)


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
