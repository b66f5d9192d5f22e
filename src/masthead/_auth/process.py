"""Running a subprocess within limits of time and output, without leaving processes behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Final, cast

from masthead._meta.secret import SecretValue
from masthead._value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OUTPUT_LIMIT", "ProcessResult", "run"]

OUTPUT_LIMIT: Final = 1024 * 1024
"""The longest standard output, in bytes."""

_STDERR_KEPT: Final = 8 * 1024
_STDOUT: Final = 1


class ProcessResult(Value):
    """The outcome of a subprocess.

    Attributes:
        code: The exit code; negative if a signal killed it.
        output: The standard output; longer than `OUTPUT_LIMIT` if it was killed for that.
        stderr: The end of the standard error; empty if that went to the terminal.
    """

    code: int
    output: SecretValue[bytes]
    stderr: SecretValue[bytes]


class _OutputCollector(asyncio.SubprocessProtocol):
    """Collects output up to the limits."""

    def __init__(self) -> None:
        self.output = SecretValue(bytearray())
        self.stderr = SecretValue(bytearray())
        self.is_closed = False
        self.enough = asyncio.Event()
        self.exited = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDOUT:
            output = self.output.reveal()
            if len(output) <= OUTPUT_LIMIT:
                output += data
            if len(output) > OUTPUT_LIMIT:
                self.enough.set()
        else:
            stderr = self.stderr.reveal()
            stderr += data
            # Keep the end: a program prints the reason of its failure last.
            del stderr[:-_STDERR_KEPT]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's
        """Note that the process has exited and all its pipes are closed."""
        self.is_closed = True
        self.enough.set()


async def run(
    path: str,
    args: SecretValue[tuple[str, ...]],
    *,
    env: SecretValue[Mapping[str, str]],
    interactive: bool,
    timeout: float,  # noqa: ASYNC109 - the process is killed, too
) -> ProcessResult:
    """Run a program until it has exited and its output is closed.

    A program that is not interactive gets no input and its own process group. The whole group is killed if it
    prints too much, takes too long, or if the caller is cancelled. An interactive program uses the terminal for input
    and stderr. To read from there it must stay in our process group, so only the program itself is killed.

    Args:
        path: The program.
        args: Its arguments.
        env: Its whole environment.
        interactive: Whether it may use the terminal.
        timeout: How many seconds it may take.

    Raises:
        OSError: If the program cannot be started.
        TimeoutError: If it takes too long, or a child of it keeps its output open.
    """
    try:
        transport, listener = await asyncio.get_running_loop().subprocess_exec(
            _OutputCollector,
            path,
            *args.reveal(),
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=None if interactive else asyncio.subprocess.PIPE,
            env=env.reveal(),
            start_new_session=not interactive,
        )
    except BaseException as error:  # noqa: BLE001 - raised again
        raise error.with_traceback(None) from None  # asyncio's frames hold the arguments and the environment
    try:
        async with asyncio.timeout(timeout):
            await listener.enough.wait()
    finally:
        try:
            if not listener.is_closed:
                _kill(transport, with_group=not interactive)
            # Wait for the exit in any case: a process that is not waited for remains a zombie.
            await listener.exited.wait()
        finally:
            transport.close()
    code = cast("int", transport.get_returncode())
    output, stderr = (SecretValue(bytes(stream.reveal())) for stream in (listener.output, listener.stderr))
    return ProcessResult(code, output, stderr)


def _kill(transport: asyncio.SubprocessTransport, *, with_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the program has exited
        if with_group and sys.platform != "win32":
            os.killpg(transport.get_pid(), signal.SIGKILL)
        else:
            transport.kill()
