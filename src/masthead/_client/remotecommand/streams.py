"""The streams of a process in a container."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from masthead._module import set_module
from masthead._sansio.framing import LineDecoder
from masthead._sansio.remotecommand import Channel, can_close, close_message, encode_message
from masthead.errors import ArgumentError, ClosedError, MastheadError, ProtocolError, ResponseTooLargeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from masthead._transport.websocket import WebSocket

__all__ = ["RemoteInput", "RemoteOutput"]

_MAX_HELD: Final = 2**20
"""How many bytes may wait for the reader of a stream before nothing more is read from the connection."""
_MESSAGE_SIZE: Final = 2**15
"""How many bytes are sent at a time: as client-go and kubelets do."""


@set_module("masthead.aio.streams")
class RemoteOutput:
    """What a process prints to stdout or stderr: iterate over its bytes as they arrive, or `read` all of them.

    Both streams come over one connection. So if only one of them is read and the other grows by more than a megabyte,
    both
    wait: read both, or ask for one only. A stream can be read once.
    """

    def __init__(self, about: str) -> None:
        self._about = about
        self._chunks: deque[bytes] = deque()
        self._held = 0
        self._is_over = False
        self._error: MastheadError | None = None
        self._changed: asyncio.Future[None] | None = None
        self._space: asyncio.Future[None] | None = None

    @property
    def about(self) -> str:
        """Its name in messages."""
        return self._about

    async def read(self, limit: int | None = None) -> bytes:
        """Read all that is still to come.

        Args:
            limit: The maximum number of bytes; None for no limit.

        Raises:
            ResponseTooLargeError: If there are more.
            TransportError: If the connection is lost before the end.
            ClosedError: If the process was closed.
        """
        collected = bytearray()
        async for chunk in self:
            collected += chunk
            if limit is not None and len(collected) > limit:
                raise ResponseTooLargeError(
                    f"{self._about} has more than {limit:,} bytes; read it as a stream, or raise the limit"
                )
        return bytes(collected)

    async def lines(self) -> AsyncIterator[str]:
        """The lines as text, without line feeds; bytes that are not UTF-8 are replaced.

        Raises:
            TransportError: If the connection is lost before the end, or a line is too long.
            ClosedError: If the process was closed.
        """
        decoder = LineDecoder(verbatim=True)
        async for chunk in self:
            for line in decoder.feed(chunk):
                yield line.decode("utf-8", "replace")
        # The last line may lack its line feed.
        if decoder.rest:
            yield decoder.rest.decode("utf-8", "replace")

    async def close(self) -> None:
        """Discard the rest, so that the other stream does not wait for it."""
        self._chunks.clear()
        self._held = 0
        self.end(None)
        self._make_space()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self._chunks:
            # After the chunks: what was printed before the failure is still delivered.
            if self._error is not None:
                raise self._error
            if self._is_over:
                raise StopAsyncIteration
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed
        chunk = self._chunks.popleft()
        self._held -= len(chunk)
        self._make_space()
        return chunk

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    # Called by the process:

    async def put(self, chunk: bytes) -> None:
        """Hand bytes to the reader; waits while it has too many."""
        if self._is_over or not chunk:
            return
        self._chunks.append(chunk)
        self._held += len(chunk)
        self._wake()
        # The process waits for its reader, as with a local pipe.
        if self._held > _MAX_HELD:
            self._space = asyncio.get_running_loop().create_future()
            await self._space

    def end(self, error: MastheadError | None) -> None:
        """No more bytes will come."""
        if not self._is_over:
            self._is_over = True
            self._error = error
            self._wake()

    def _wake(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    def _make_space(self) -> None:
        if self._space is not None and not self._space.done() and self._held <= _MAX_HELD:
            self._space.set_result(None)


@set_module("masthead.aio.streams")
class RemoteInput:
    """The stdin of a process that was opened with ``stdin=True``; without it, `write` raises."""

    def __init__(self, about: str, *, is_open: bool = True) -> None:
        self._about = about
        self._is_open = is_open
        self._socket: WebSocket | None = None
        self._is_closed = False

    def connect(self, socket: WebSocket) -> None:
        """Called by the process when it has started."""
        self._socket = socket

    @property
    def can_close(self) -> bool:
        """Whether the server understands the end of stdin: those before Kubernetes 1.30 do not."""
        return self._socket is not None and can_close(self._socket.protocol)

    async def write(self, data: bytes | str) -> None:
        """Send bytes, or text as UTF-8, and wait while the process does not read them.

        Raises:
            TransportError: If the connection has ended.
            ClosedError: If stdin or the process was closed.
            ArgumentError: If the process was not opened with ``stdin=True``, or `data` is neither bytes nor text.
        """
        # The server would drop what is sent there, without an error.
        if not self._is_open:
            raise ArgumentError(f"{self._about}: the process has no stdin; open it with stdin=True")
        socket = self._open_socket()
        view = memoryview(_encode(data))
        # Small messages: the API server limits their size, and a resize must not wait behind a long one.
        for start in range(0, len(view), _MESSAGE_SIZE):
            await socket.send(encode_message(Channel.STDIN, view[start : start + _MESSAGE_SIZE]))

    async def close(self) -> None:
        """Signal the end of stdin. Closing twice does nothing.

        Raises:
            ProtocolError: If the server is too old to understand it.
            TransportError: If the connection has ended.
        """
        if self._is_closed:
            return
        socket = self._open_socket()
        if not self.can_close:
            raise ProtocolError(
                f"{self._about}: the server speaks {socket.protocol}, in which stdin cannot be closed, so that "
                "a command "
                "which reads stdin to its end would wait for ever; send what makes it end, such as 'exit', or "
                "use an API server of Kubernetes 1.30 or newer"
            )
        self._is_closed = True
        await socket.send(close_message(Channel.STDIN))

    def _open_socket(self) -> WebSocket:
        if self._socket is None:
            raise ClosedError(
                f"{self._about}: the process was not started; that happens at the start of its with block"
            )
        if self._is_closed:
            raise ClosedError(f"{self._about}: stdin is closed")
        return self._socket


def _encode(data: bytes | str) -> bytes:
    if isinstance(data, str):
        return data.encode()
    if not isinstance(cast("object", data), bytes | bytearray | memoryview):
        raise ArgumentError(f"stdin takes bytes or text, and was given a {type(data).__name__}", value=data)
    return data
