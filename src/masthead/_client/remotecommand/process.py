"""A process in a container, and its streams over one WebSocket.

::

    stdin.write ──> channel 0 ─┐                ┌─ channel 1 ──> stdout, up to a megabyte unread
    stdin.close ──> [255, 0] ──┼── WebSocket ───┼─ channel 2 ──> stderr, likewise
    resize ──────> channel 4 ──┘                └─ channel 3 ──> how it ended: wait()
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

from masthead._client.remotecommand.results import not_run, unknown_end
from masthead._client.remotecommand.stdin import input_chunks
from masthead._client.remotecommand.streams import RemoteInput, RemoteOutput
from masthead._module import set_module
from masthead._sansio.remotecommand import Channel, MalformedStatusError, StatusCollector, resize_message
from masthead.errors import ClosedError, MastheadError, TransportError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from masthead._client.remotecommand.stdin import InputSource
    from masthead._sansio.remotecommand import ExitStatus
    from masthead._transport.websocket import WebSocket

__all__ = ["RemoteProcess"]

_OUTPUTS: Final = (Channel.STDOUT, Channel.STDERR)


@set_module("masthead.aio.streams")
class RemoteProcess:
    """A command in a container, or a container's main process, while it runs; to be used in ``async with``.

    ::

        async with pods.open_exec("web", ["cat"], stdin=True) as process:
            await process.stdin.write(b"hello")
            await process.stdin.close()
            async for line in process.stdout.lines():
                print(line)
            code = await process.wait()

    Leaving the block before the process has ended closes the connection; that does not end the process: whether it goes
    on is up to the container runtime.

    Threads: belongs to one event loop.
    """

    def __init__(self, connect: Callable[[], Awaitable[WebSocket]], about: str, *, has_stdin: bool = True) -> None:
        """Prepare to start a process.

        Args:
            connect: Starts it.
            about: Names it in messages.
            has_stdin: Whether it is started with a stdin.
        """
        self._connect = connect
        self._about = about
        self._has_stdin = has_stdin
        self._socket: WebSocket | None = None
        self._receiver: asyncio.Task[None] | None = None
        self._status = StatusCollector()
        self._ended = asyncio.Event()
        self._result: ExitStatus | MastheadError | None = None
        self._has_printed = False

    @property
    def about(self) -> str:
        """Its name in messages."""
        return self._about

    @cached_property
    def stdin(self) -> RemoteInput:
        """Its stdin, if it was opened with ``stdin=True``."""
        return RemoteInput(self._about, is_open=self._has_stdin)

    @cached_property
    def stdout(self) -> RemoteOutput:
        """What it prints to stdout; with a TTY, all that it prints."""
        return RemoteOutput(f"{self._about}: stdout")

    @cached_property
    def stderr(self) -> RemoteOutput:
        """What it prints to stderr."""
        return RemoteOutput(f"{self._about}: stderr")

    @property
    def exit_code(self) -> int | None:
        """The exit code; None before the process has ended, and if it could not be run."""
        result = self._result
        return None if result is None or isinstance(result, MastheadError) else result.code

    async def open(self) -> None:
        """Start it; called by ``async with``.

        Raises:
            NotFoundError: If there is no such pod.
            BadRequestError: If the container is not one of the pod's, or the pod does not run.
            StatusError: If the server refuses for another reason.
            TransportError: If no connection can be made.
        """
        if self._socket is None:
            self._socket = await self._connect()
            self.stdin.connect(self._socket)
            self._receiver = asyncio.get_running_loop().create_task(self._receive())

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit code. Its output must be read at the same time.

        Raises:
            ExecError: If the container runtime could not run it to its end.
            TransportError: If the connection was lost before its end.
            ClosedError: If it was closed.
        """
        await self._ended.wait()
        result = self._result
        if isinstance(result, MastheadError):
            raise result
        assert result is not None
        # The runtime reports a failure without an exit code if the command never ran.
        if result.code is None:
            raise not_run(self._about, result, has_printed=self._has_printed)
        return result.code

    async def send_input(self, source: InputSource) -> None:
        """Send bytes, text, a file or an iterable to stdin, and then its end.

        A process that does not read it to the end is no error.

        Args:
            source: What to send; files and plain iterables are read in a thread.

        Raises:
            ProtocolError: If the server is too old to understand the end of stdin.
            ArgumentError: If it is not bytes.
            Exception: Whatever reading the source raises.
        """
        if not self.stdin.can_close:
            await self.stdin.close()  # raises, before anything is sent
        async with aclosing(input_chunks(source)) as chunks:
            async for chunk in chunks:
                # The end of the process, which `wait` reports, closes stdin.
                with suppress(TransportError, ClosedError):
                    await self.stdin.write(chunk)
                if self._ended.is_set():
                    return
        with suppress(TransportError, ClosedError):
            await self.stdin.close()

    async def resize(self, width: int, height: int) -> None:
        """Tell a process with a TTY the size of the terminal, in characters.

        Raises:
            TransportError: If the connection has ended.
            ClosedError: If it was not started, or closed.
        """
        if self._socket is None:
            raise ClosedError(
                f"{self._about}: the process was not started; that happens at the start of its with block"
            )
        await self._socket.send(resize_message(width, height))

    async def close(self) -> None:
        """Close the connection. Closing twice does nothing."""
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            # First, or it would take the close for a failure of the process.
            receiver.cancel()
            await asyncio.wait([receiver])
        if self._socket is not None:
            await self._socket.close()
        self._finish(ClosedError(f"{self._about}: closed before the process had ended"))

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _receive(self) -> None:
        """Hand on what comes, until the connection ends."""
        socket = self._socket
        assert socket is not None
        try:
            while (message := await socket.receive()) is not None:
                await self._dispatch(message)
        except MastheadError as error:
            error.add_note("The command may still be running in the container.")
            self._finish(error)
        else:
            self._finish(unknown_end(self._about, "the server closed the connection"))

    async def _dispatch(self, message: bytes) -> None:
        # Others are reserved, or tell that the server has closed a channel, which is of no consequence.
        channel = message[0] if message else None
        # An empty message opens a channel, and is no output.
        self._has_printed |= channel in _OUTPUTS and len(message) > 1
        if channel == Channel.STDOUT:
            await self.stdout.put(message[1:])
        elif channel == Channel.STDERR:
            await self.stderr.put(message[1:])
        elif channel == Channel.ERROR:
            self._status.feed(message[1:])

    def _finish(self, error: MastheadError) -> None:
        """The connection has ended: by the Status of the process or, without one, with an error."""
        if self._ended.is_set():
            return
        result: ExitStatus | MastheadError = error
        # A Status that arrived wins over the loss of the connection after it.
        if not self._status.is_empty:
            try:
                result = self._status.status()
            except MalformedStatusError as malformed:
                result = unknown_end(self._about, f"the connection ended in the middle of a Status: {malformed}")
        self._result = result
        self._ended.set()
        failed = result if isinstance(result, MastheadError) else None
        self.stdout.end(failed)
        self.stderr.end(failed)
