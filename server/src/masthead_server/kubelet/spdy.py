"""SPDY connections of clients: streams to read from and to write to, over any carrier of bytes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead._spdy.errors import SpdyError
from masthead._spdy.events import StreamData, StreamEnded, StreamOpened, StreamReset
from masthead._spdy.frames import ResetStatus
from masthead._spdy.session import SpdySession
from masthead.errors import ClosedError
from masthead_server.web.byte_queue import ByteQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._spdy.events import SpdyEvent
    from masthead_server.web.byte_stream import ByteStream

__all__ = ["SpdyConnection", "SpdyStream"]

_MAX_QUEUED: Final = 8 * 1024 * 1024
"""Bytes that all streams of a connection may have unread before its client is held back."""
_SLICE: Final = 32 * 1024
"""Bytes per step of the parser."""
_LINGER: Final = 5.0
"""Seconds for a client to close a connection that has ended: closing it first might destroy what it has not read."""


class SpdyStream:
    """A stream that a client has opened.

    Attributes:
        stream_id: Its number.
        headers: Its headers, by lower-case name.
    """

    def __init__(self, owner: SpdyConnection, stream_id: int, headers: dict[str, str]) -> None:
        self.stream_id = stream_id
        self.headers = headers
        self.received = ByteQueue(owner.on_read)
        self._owner = owner

    async def read(self) -> bytes | memoryview:
        """Read the next piece; empty when the client sends nothing more.

        Raises:
            ConnectionError: If the client has reset the stream, or has disconnected.
        """
        return await self.received.read()

    async def write(self, data: bytes | memoryview) -> None:
        """Send a piece; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the stream is closed, or the client has disconnected.
        """
        await self._owner.send(self.stream_id, data)

    async def end(self) -> None:
        """Send nothing more; what the client sends can still be read. Ending twice does nothing.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        # The client may have reset the stream.
        if self._owner.session.is_writable(self.stream_id):
            await self._owner.send(self.stream_id, b"", fin=True)

    async def reset(self) -> None:
        """End the stream in both directions.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        self.received.clear()
        self._owner.session.reset(self.stream_id, ResetStatus.CANCEL)
        await self._owner.flush()

    def discard(self) -> None:
        """Drop whatever the client sends."""
        self.received.clear()


class SpdyConnection:
    """The server's side of a SPDY connection.

    There is no flow control of single streams, because no client of Kubernetes knows it: one stream that is not read
    holds back all others, as it does with a kubelet.

    Args:
        carrier: What carries the bytes.
        on_stream: Called with each stream that the client opens; returns whether it is accepted.
    """

    def __init__(self, carrier: ByteStream, on_stream: Callable[[SpdyStream], bool]) -> None:
        self.session = SpdySession(is_client=False)
        self._carrier = carrier
        self._on_stream = on_stream
        self._streams: dict[int, SpdyStream] = {}
        """The streams on which the client may still send."""
        self._full: list[SpdyStream] = []
        """Streams with more unread bytes than their window allows."""
        self._queued = 0
        self._has_room = asyncio.Event()
        self.ended = asyncio.Event()
        """Set when the client has disconnected."""
        self._is_closing = False

    async def run(self) -> None:
        """Receive until the client goes away, or breaks the protocol. Then every stream ends with an error."""
        try:
            while piece := await self._carrier.receive():
                # In slices, because a piece can hold thousands of frames.
                for start in range(0, len(piece), _SLICE):
                    for event in self.session.receive(piece[start : start + _SLICE]):
                        self._handle(event)
                    await self.flush()
                    await self._wait_for_room()
                    await asyncio.sleep(0)  # a frame may have eight bytes, and other clients wait
        except (ConnectionError, SpdyError):
            pass  # either way, there is no peer to notify
        finally:
            self.ended.set()
            for stream in self._streams.values():
                # An error and not an end: the bytes of the client are not all here.
                stream.received.end(ConnectionResetError("the client has disconnected"))

    async def send(self, stream_id: int, data: bytes | memoryview, *, fin: bool = False) -> None:
        """Send a piece of a stream, and perhaps its end.

        Raises:
            ConnectionError: If the stream is closed, or the client has disconnected.
        """
        try:
            self.session.send_data(stream_id, data, fin=fin)
        except ClosedError:
            raise BrokenPipeError("the client has closed the stream") from None
        await self.flush()

    async def flush(self) -> None:
        """Send what the session has to send.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        data = self.session.data_to_send()
        if data:
            await self._carrier.send(data)

    async def close(self) -> None:
        """Accept no more streams, and close the connection, preferably after the client has done so."""
        self._is_closing = True
        for stream in self._streams.values():
            stream.received.clear()
        # A client closes its side when it has read this.
        self.session.go_away()
        with suppress(ConnectionError, TimeoutError):
            await self.flush()
            async with asyncio.timeout(_LINGER):
                await self.ended.wait()
        await self._carrier.close()

    def on_read(self, size: int) -> None:
        """So many bytes of a stream were read or dropped."""
        self._queued -= size
        self._has_room.set()

    async def _wait_for_room(self) -> None:
        while not self._is_closing and (
            self._queued > _MAX_QUEUED or any(stream.received.is_full for stream in self._full)
        ):
            # Cleared before the wait: a read in between sets it again.
            self._has_room.clear()
            await self._has_room.wait()
        self._full.clear()

    def _handle(self, event: SpdyEvent) -> None:
        match event:
            case StreamData(stream_id=stream_id, data=data):
                # Streams that were refused or have ended may still carry data.
                if stream := self._streams.get(stream_id):
                    self._feed(stream, data)
            case StreamOpened(stream_id=stream_id, headers=headers):
                self._open(stream_id, headers)
            case StreamEnded(stream_id=stream_id):
                if stream := self._streams.pop(stream_id, None):
                    stream.received.end()
            case StreamReset(stream_id=stream_id):
                if stream := self._streams.pop(stream_id, None):
                    stream.received.clear(ConnectionResetError("the client has reset the stream"))
            case _:
                pass

    def _feed(self, stream: SpdyStream, data: memoryview) -> None:
        if not self._is_closing and stream.received.feed(data):
            self._queued += len(data)
            # Remembered, so that not every stream is asked for its size with every frame.
            if stream.received.is_full:
                self._full.append(stream)

    def _open(self, stream_id: int, headers: dict[str, str]) -> None:
        stream = SpdyStream(self, stream_id, headers)
        if self._on_stream(stream):
            self._streams[stream_id] = stream
            with suppress(ClosedError):  # the client may have reset it in the same breath
                self.session.reply(stream_id)
        else:
            self.session.reset(stream_id, ResetStatus.CANCEL)
