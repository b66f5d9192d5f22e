"""The other end of a tunnel: a WebSocket in memory, and the SPDY session of a kubelet behind it."""

from __future__ import annotations

import asyncio
from collections import deque

from masthead._client.portforward.resolver import ForwardTarget
from masthead._spdy.events import SpdyEvent, StreamData, StreamEnded
from masthead._spdy.session import SpdySession
from masthead.errors import ClosedError, ProtocolError

ERROR, DATA = 1, 3
TARGET = ForwardTarget("shop/web", "web", "uid-1", (8080,))


class MemorySocket:
    """A WebSocket whose peer reads when it likes: `send` waits while it holds back."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.is_closed = False
        self.is_aborted = False
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.receiving = 0
        self._incoming: deque[bytes | Exception | None] = deque()
        self._changed = asyncio.Event()

    def put(self, message: bytes | Exception | None) -> None:
        """Let the client receive a message, the end, or an error."""
        self._incoming.append(message)
        self._changed.set()

    @property
    def unread(self) -> int:
        """How many messages the client has not received."""
        return len(self._incoming)

    async def receive(self) -> bytes | None:
        while not self._incoming:
            if self.is_aborted:
                raise ClosedError("the WebSocket is closed")
            self._changed.clear()
            await self._changed.wait()
        message = self._incoming.popleft()
        if isinstance(message, Exception):
            raise message
        return message

    async def send(self, data: bytes) -> None:
        if self.is_aborted:
            raise ProtocolError("the connection has ended")
        self.sent.append(data)
        await self.may_send.wait()

    async def close(self) -> None:
        self.is_closed = True
        self.abort()

    def abort(self) -> None:
        self.is_aborted = True
        self.may_send.set()
        self._changed.set()


class Peer:
    """A kubelet: accepts both streams, and says what a test wants."""

    def __init__(self, socket: MemorySocket) -> None:
        self.socket = socket
        self.session = SpdySession(is_client=False)
        self.events: list[SpdyEvent] = []
        self._read = 0

    def read(self) -> list[SpdyEvent]:
        """What the client has sent since the last call."""
        new = [event for message in self.socket.sent[self._read :] for event in self.session.receive(message)]
        self._read = len(self.socket.sent)
        self.events += new
        return new

    def accept(self) -> None:
        """Reply to both streams."""
        self.read()
        self.session.reply(ERROR)
        self.session.reply(DATA)
        self.flush()

    def say(self, data: bytes = b"", *, stream: int = DATA, fin: bool = False) -> None:
        self.session.send_data(stream, data, fin=fin)
        self.flush()

    def flush(self) -> None:
        self.socket.put(self.session.data_to_send())

    @property
    def heard(self) -> bytes:
        """The bytes of the data stream."""
        self.read()
        return b"".join(bytes(event.data) for event in self.events if isinstance(event, StreamData))

    @property
    def has_heard_all(self) -> bool:
        """Whether the client has ended the data stream."""
        self.read()
        return StreamEnded(DATA) in self.events


class Recorder(asyncio.Protocol):
    """A protocol that remembers what it is told."""

    def __init__(self, *, keeps_open: bool = True) -> None:
        self.received = b""
        self.calls: list[str] = []
        self.error: Exception | None = None
        self._keeps_open = keeps_open

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        del transport
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> bool:
        self.calls.append("eof")
        return self._keeps_open

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost")
        self.error = exc
