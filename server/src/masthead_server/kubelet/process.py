"""A command as its handler sees it: for coroutine functions, and for plain functions, which run in threads."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._module import set_module
from masthead_server.kubelet.pod_host import UNKNOWN_HOST

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping

    from masthead_server.kubelet.pod_host import PodHost
    from masthead_server.kubelet.stdio import OutputStream, TerminalSize, TerminalSizes

__all__ = ["BlockingExecProcess", "BlockingOutput", "BlockingStdin", "CommandLine", "ExecProcess"]

ResultT = TypeVar("ResultT")
StdinT = TypeVar("StdinT")
OutputT = TypeVar("OutputT")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command that is to run, and where.

    Attributes:
        namespace: The pod's namespace.
        pod: The pod's name.
        container: The container's name.
        argv: The command and its arguments; for a container's main process, those of its spec.
        env: The container's environment.
        is_tty: Whether the client has a terminal; then stdout has stderr's output, too.
        host: The host that the command sees.
        working_dir: The directory that the command starts in.
    """

    namespace: str
    pod: str
    container: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    is_tty: bool = False
    host: PodHost = UNKNOWN_HOST
    working_dir: str = "/"


class _Process(Generic[StdinT, OutputT]):
    """What both kinds of processes have."""

    def __init__(self, line: CommandLine, stdin: StdinT, stdout: OutputT, stderr: OutputT) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.namespace: str = line.namespace
        self.pod: str = line.pod
        self.container: str = line.container
        self.argv: tuple[str, ...] = line.argv
        self.env: Mapping[str, str] = line.env
        self.is_tty: bool = line.is_tty
        self.line = line

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {list(self.argv)} in {self.namespace}/{self.pod} {self.container}>"


@set_module("masthead.server")
class ExecProcess(_Process[asyncio.StreamReader, "OutputStream"]):
    """A command that a handler runs instead of a container: for coroutine functions.

    Attributes:
        namespace: The pod's namespace.
        pod: The pod's name.
        container: The container's name.
        argv: The command and its arguments.
        env: The container's environment.
        is_tty: Whether the client has a terminal.
        stdin: What the client sends: ``await stdin.read()``, ``readline()``, ``async for line in stdin``. Empty if the
            client did not ask for stdin.
        stdout: ``await stdout.write(...)`` sends bytes or text to the client, and waits while it reads too slowly.
        stderr: Likewise; with a terminal, it goes where stdout goes.
    """

    def __init__(
        self,
        line: CommandLine,
        stdin: asyncio.StreamReader,
        stdout: OutputStream,
        stderr: OutputStream,
        sizes: TerminalSizes,
    ) -> None:
        super().__init__(line, stdin, stdout, stderr)
        self._sizes = sizes

    @property
    def terminal_size(self) -> TerminalSize | None:
        """The last size of the client's terminal that is known."""
        return self._sizes.last

    def resizes(self) -> AsyncIterator[TerminalSize]:
        """Iterate over the sizes of the client's terminal, from the present one on; a slow reader misses some."""
        return aiter(self._sizes)


@set_module("masthead.server")
class BlockingExecProcess(_Process["BlockingStdin", "BlockingOutput"]):
    """A command that a handler runs instead of a container: for plain functions, in one thread per command.

    It has the attributes of `ExecProcess`; reads and writes block.
    """

    def __init__(self, process: ExecProcess, loop: asyncio.AbstractEventLoop) -> None:
        stdin = BlockingStdin(process.stdin, loop)
        stdout, stderr = BlockingOutput(process.stdout, loop), BlockingOutput(process.stderr, loop)
        super().__init__(process.line, stdin, stdout, stderr)
        self._process = process

    @property
    def terminal_size(self) -> TerminalSize | None:
        """The last size of the client's terminal that is known."""
        return self._process.terminal_size


@set_module("masthead.server")
class BlockingStdin:
    """The stdin of a command, for a plain function."""

    def __init__(self, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
        self._reader = reader
        self._loop = loop

    def read(self, size: int = -1) -> bytes:
        """Read up to so many bytes, or all by default; empty at the end."""
        return _wait(self._reader.read(size), self._loop)

    def readline(self) -> bytes:
        """Read a line with its newline; without one, or empty, at the end.

        Raises:
            ValueError: If the line is longer than 64 KiB.
        """
        return _wait(self._reader.readline(), self._loop)

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line


@set_module("masthead.server")
class BlockingOutput:
    """The stdout or stderr of a command, for a plain function."""

    def __init__(self, stream: OutputStream, loop: asyncio.AbstractEventLoop) -> None:
        self._stream = stream
        self._loop = loop

    def write(self, data: bytes | str) -> None:
        """Write bytes, or text as UTF-8; blocks while the client reads too slowly.

        Raises:
            BrokenPipeError: If the client has disconnected.
        """
        _wait(self._stream.write(data), self._loop)


def _wait(doing: Coroutine[object, object, ResultT], loop: asyncio.AbstractEventLoop) -> ResultT:
    """Have the loop do something, and wait for it in another thread."""
    # Streams belong to the loop of the server.
    return asyncio.run_coroutine_threadsafe(doing, loop).result()
