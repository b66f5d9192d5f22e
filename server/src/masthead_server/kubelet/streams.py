"""The streams of a remote command, whatever carries them, and the Status at their end.

exec and attach know only `RemoteCommandStreams`. Each transport, such as WebSocket, has a class that implements it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

from masthead_server.kubelet.stdio import OutputStream, TerminalSize
from masthead_server.wire.failures import bad_request
from masthead_server.wire.options import read_flag

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead_server.kubelet.stdio import StdinPipe, TerminalSizes
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.request import ApiRequest

__all__ = [
    "KILLED",
    "SUCCESS",
    "RemoteCommandOptions",
    "RemoteCommandStreams",
    "exit_status",
    "internal_error",
    "parse_terminal_size",
    "run_session",
]

SUCCESS: Final[Plain] = {"metadata": {}, "status": "Success"}
"""The Status of a command that ended with exit code 0."""
KILLED: Final = 137
"""The exit code of a command that was killed with its container."""
_MAX_CHARACTERS: Final = 65_535
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class RemoteCommandOptions:
    """The query of an exec or attach.

    Attributes:
        container: The container; empty if none is named.
        command: The command and its arguments; only of exec.
        stdin: Whether the client sends stdin.
        stdout: Whether it reads stdout.
        stderr: Whether it reads stderr; never with a terminal.
        tty: Whether it has a terminal.
    """

    container: str
    command: tuple[str, ...]
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @classmethod
    def of(cls, request: ApiRequest) -> RemoteCommandOptions:
        """Read the query of a request; that there is a stream at all is for `check_streams`.

        Raises:
            StatusFailure: If a value is invalid.
        """
        tty = read_flag(request, "tty") is True
        return cls(
            container=request.first("container"),
            command=tuple(request.query.get("command", ())),
            stdin=read_flag(request, "stdin") is True,
            stdout=read_flag(request, "stdout") is True,
            # A terminal has one output; a kubelet drops the flag, too.
            stderr=read_flag(request, "stderr") is True and not tty,
            tty=tty,
        )

    def check_streams(self) -> None:
        """Make sure that there is a stream.

        Raises:
            StatusFailure: If no stream is requested.
        """
        if not (self.stdin or self.stdout or self.stderr):
            raise bad_request("you must specify at least 1 of stdin, stdout, stderr")


class RemoteCommandStreams(Protocol):
    """The streams between a client and a command.

    Attributes:
        stdin: Input from the client; ended from the start if the client does not ask for stdin.
        sizes: The sizes of the client's terminal.
        stdout: What the command prints; dropped if the client does not ask for it.
        stderr: Likewise.
    """

    stdin: StdinPipe
    sizes: TerminalSizes
    stdout: OutputStream
    stderr: OutputStream

    async def receive(self) -> None:
        """Feed what the client sends to `stdin` and `sizes`, until it goes away or ends the connection."""
        ...

    async def finish(self, status: Plain) -> None:
        """Send the Status that ends the command, and close the connection."""
        ...

    def break_off(self) -> None:
        """Expect nothing more of the client: end `stdin` and `sizes`; writing is a BrokenPipeError from now on."""
        ...


async def run_session(streams: RemoteCommandStreams, run: Callable[[], Awaitable[Plain]], ended: asyncio.Event) -> None:
    """Run a command until it ends, its container ends, or its client goes away.

    Args:
        streams: The streams of the client.
        run: Runs the command; returns the Status. It is cancelled if the client goes away.
        ended: Set when the container ends, and with it the command.
    """
    async with asyncio.TaskGroup() as group:
        receiving = group.create_task(_until_gone(streams.receive()))
        running = group.create_task(_until_gone(run()))
        ending = group.create_task(ended.wait())
        try:
            await asyncio.wait((receiving, running, ending), return_when=asyncio.FIRST_COMPLETED)
            # The result of a command counts, even if its container ends at the same time.
            status = running.result() if running.done() else exit_status(KILLED) if ending.done() else None
            running.cancel()  # before the client is notified of its end
            if status is not None:
                await _until_gone(streams.finish(status))
        finally:
            streams.break_off()
            for task in (receiving, running, ending):
                task.cancel()


async def _until_gone(doing: Awaitable[ResultT]) -> ResultT | None:
    """Wait for a result; return None if the client disconnects first."""
    try:
        return await doing
    except ConnectionError:
        return None


def exit_status(code: int) -> Plain:
    """Return the Status of a command that has ended with an exit code."""
    # Success has no details, not even the exit code.
    if not code:
        return SUCCESS
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: command terminated with exit code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def internal_error(problem: str) -> Plain:
    """Return the Status of a command that could not run."""
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {problem}",
        "reason": "InternalError",
        "details": {"causes": [{"message": problem}]},
        "code": 500,
    }


def parse_terminal_size(message: object) -> TerminalSize | None:
    """Read a decoded resize message; None if it is invalid."""
    if not isinstance(message, dict):
        return None
    # Go's decoder ignores the case of names.
    found = {name.lower(): value for name, value in cast("Plain", message).items()}
    numbers = [found.get("width", 0), found.get("height", 0)]
    for number in numbers:
        # In Python, True is a number.
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MAX_CHARACTERS:
            return None
    return TerminalSize(*numbers)
