"""The server's side of a WebSocket, which sends exactly the bytes of a test."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.unit.transport.servers import receive, serving
from websockets.frames import Frame, Opcode
from websockets.protocol import SERVER, Protocol
from websockets.utils import accept_key

from masthead._transport.contract import TransportRequest, UpgradedResponse
from masthead._transport.http import HttpTransport
from masthead._transport.websocket import Handshake, WebSocket

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable

    from tests.unit.transport.servers import ReceivedRequest

    from masthead._transport.contract import TlsSource

PROTOCOL = "v5.channel.k8s.io"


def switching(key: str, *, protocol: str = PROTOCOL) -> bytes:
    """The head of a 101."""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept_key(key)}\r\nSec-WebSocket-Protocol: {protocol}\r\n\r\n"
    ).encode()


def frame(data: bytes, opcode: Opcode = Opcode.BINARY, *, fin: bool = True) -> bytes:
    """A frame as a server sends it."""
    return Frame(opcode, data, fin).serialize(mask=False)


class Peer:
    """A connection whose handshake is done.

    Attributes:
        request: The request of the handshake.
    """

    def __init__(self, request: ReceivedRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self.reader = reader
        self.writer = writer
        self.frames = Protocol(SERVER, max_size=None)

    async def send(self, *parts: bytes) -> None:
        """Send bytes, each part by itself."""
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)

    async def receive(self) -> Frame:
        """The next frame of the client, also one for control. Nothing is answered."""
        while not (events := self.frames.events_received()):
            data = await self.reader.read(2**16)
            assert data, "the client has closed the connection"
            self.frames.receive_data(data)
        first, *rest = events
        self.frames.events[:0] = rest
        assert isinstance(first, Frame)
        return first


@asynccontextmanager
async def websocket(
    script: Callable[[Peer], Awaitable[None]],
    *,
    context: ssl.SSLContext | None = None,
    tls: TlsSource | None = None,
    proxy_url: str = "",
    read_timeout: float = math.inf,
    ping_interval: float = 1e6,
) -> AsyncIterator[WebSocket]:
    """A client's WebSocket to a server that follows a script once the handshake is done."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await receive(reader)
        writer.write(switching(request.headers["sec-websocket-key"]))
        await script(Peer(request, reader, writer))

    async with serving(handle, context) as server:
        url = server.url if context is None else server.secure_url
        transport = HttpTransport(url, tls=tls, proxy_url=proxy_url)
        handshake = Handshake([PROTOCOL])
        request = TransportRequest("GET", "/exec", handshake.headers, read_timeout=read_timeout, is_upgrade=True)
        response = await transport.send(request)
        assert isinstance(response, UpgradedResponse)
        protocol = handshake.check(response)
        made = WebSocket(response, protocol, ping_interval=ping_interval, explain=lambda error: error)
        try:
            yield made
        finally:
            made.abort()
            await transport.close()
