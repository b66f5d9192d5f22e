"""The commands of a copy, run in a container, and the errors of failed ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._client.cp import commands
from masthead._client.remotecommand.concurrency import run_all
from masthead._errors.base import printable
from masthead.errors import CopyError, ExecError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import TypeAlias

    from masthead._client.remotecommand.process import RemoteProcess
    from masthead._client.remotecommand.streams import RemoteInput, RemoteOutput

    Sender: TypeAlias = Callable[[RemoteInput], Coroutine[object, None, None]]
    Receiver: TypeAlias = Callable[[RemoteOutput], Coroutine[object, None, None]]

__all__ = ["Container", "Ended", "check_confirmation"]

_KEPT: Final = 2**14
"""The maximum size of the retained end of each output of a command."""
_SHOWN: Final = 500
_NOT_RUN: Final = (126, 127)
"""Exit codes of shells, and of some container runtimes, for a command that is not there."""
_KILLED: Final = (137, 143)
_ADVICE: Final = (
    ("No such file", "check the path"),
    ("nonexistent", "create the directory first, with exec and mkdir -p"),
    ("No space left", "free some space in the volume of the container"),
    ("Read-only file system", "choose a path in a writable volume"),
    ("Permission denied", "choose a path that the user of the container may use"),
    ("Operation not permitted", "choose a path that the user of the container owns, or use preserve=False"),
    ("Is a directory", "name a file"),
    ("ot a directory", "check the path"),
    (
        "changed as we read it",
        "all was copied, but maybe in different states; copy it again while it is not written to",
    ),
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        command: Its name.
        exit_code: Its exit code; None if it could not be run.
        problem: Why it could not be run.
        stdout: The end of what it printed to stdout, unless a receiver has taken that.
        stderr: The end of what it printed to stderr.
    """

    command: str
    exit_code: int | None
    problem: str = ""
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def is_missing(self) -> bool:
        """Whether the image does not have the command."""
        if self.exit_code is None:
            return any(phrase in self.problem for phrase in ("executable file not found", "no such file or directory"))
        return self.exit_code in _NOT_RUN

    def check(self, path: str) -> None:
        """Check that it succeeded.

        Raises:
            CopyError: If not; it names the path.
        """
        if self.exit_code == 0:
            return
        # Some container runtimes print to stdout why they cannot run a command.
        printed = b"\n".join(filter(None, (self.stdout.strip(), self.stderr.strip())))
        said = printable(printed.decode("utf-8", "replace"))[-_SHOWN:]
        if self.exit_code is None and not self.is_missing:
            problem, advice = f"{self.problem}{f': {said}' if said else ''}", ""
        elif self.is_missing:
            problem, advice = f"the image has no {self.command}", said
        else:
            problem = f"{self.command} ended with exit code {self.exit_code}{f': {said}' if said else ''}"
            advice = next((advice for words, advice in _ADVICE if words in said), "")
            # 128 plus the signal: SIGKILL or SIGTERM.
            if self.exit_code in _KILLED:
                advice = "the container was stopped, or has run out of memory"
        raise CopyError(
            f"{path}: {problem}{f'; {advice}' if advice else ''}",
            path=path,
            exit_code=self.exit_code,
            stderr=self.stderr,
        )


class Container:
    """Runs commands in one container.

    Args:
        start: Prepares a process: its command, and whether it gets a stdin.
    """

    def __init__(self, start: Callable[[Sequence[str], bool], RemoteProcess]) -> None:
        self._start = start
        self._can_close = True

    @property
    def can_close(self) -> bool:
        """Whether the end of stdin can be sent, by the experience with the last command."""
        return self._can_close

    async def probe(self, path: str, name: str = "") -> commands.ProbedTarget:
        """Look at a path that is to be written; see `commands.probe`.

        Raises:
            CopyError: If the image has no shell.
            ArgumentError: If the path cannot be one.
            StatusError: If the server refuses.
            TransportError: If the connection fails or is lost.
        """
        ended = await self.run(commands.probe(path, name))
        ended.check(path)
        return commands.parse_probe(ended.stdout)

    async def is_directory(self, path: str) -> bool | None:
        """Whether a path is a directory; None if the image has no command to tell.

        Raises:
            StatusError: If the server refuses.
            TransportError: If the connection fails or is lost.
        """
        ended = await self.run(commands.is_directory(path))
        # Images without a shell or test: the caller has to try.
        return None if ended.exit_code is None or ended.is_missing else ended.exit_code == 0

    async def run(
        self, command: Sequence[str], *, send: Sender | None = None, receive: Receiver | None = None
    ) -> Ended:
        """Run a command to its end.

        Args:
            command: The command and its arguments.
            send: Writes to its stdin.
            receive: Reads its stdout; by default, its end is retained, like that of stderr.

        Raises:
            StatusError: If the server refuses.
            TransportError: If the connection fails or is lost.
            Exception: Whatever `send` and `receive` raise.
        """
        stdout, stderr = bytearray(), bytearray()
        process = self._start(command, send is not None)
        async with process:
            self._can_close = process.stdin.can_close
            try:
                await run_all(
                    process.wait(),
                    _keep_end(process.stderr, stderr),
                    receive(process.stdout) if receive else _keep_end(process.stdout, stdout),
                    aside=[send(process.stdin)] if send else [],
                )
            except ExecError as error:
                return Ended(command[0], None, str(error), bytes(stdout), bytes(stderr))
            return Ended(command[0], await process.wait(), "", bytes(stdout), bytes(stderr))


def check_confirmation(ended: Ended) -> Ended:
    """How a command ended that prints `commands.DONE` if it succeeds."""
    # The exit status alone may come from a connection that was cut short.
    if ended.exit_code == 0 and commands.DONE not in ended.stdout:
        problem = "the server says that the command has succeeded, but the command does not; copy it again"
        return replace(ended, exit_code=None, problem=problem)
    return ended


async def _keep_end(output: RemoteOutput, kept: bytearray) -> None:
    """Read a stream to its end, and keep the last bytes."""
    async for chunk in output:
        kept += chunk
        del kept[:-_KEPT]
