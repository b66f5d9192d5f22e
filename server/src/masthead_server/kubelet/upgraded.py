"""HTTP connections that have switched protocols: messages over a WebSocket, or plain bytes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, cast

from aiohttp import WSMsgType
from aiohttp.web_response import StreamResponse
from aiohttp.web_ws import WebSocketResponse

from masthead_server.kubelet.byte_queue import ByteQueue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp._websocket.reader import WebSocketReader
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.web_request import BaseRequest

__all__ = ["MESSAGES_AT_ONCE", "ByteCarrier", "RawCarrier", "WebSocketCarrier", "is_upgrade", "is_websocket"]

MESSAGES_AT_ONCE: Final = 256
"""Messages that are received before other clients have their turn."""
_MOST_MESSAGE: Final = 4 * 1024 * 1024
_NEVER: Final = 2**62
"""More bytes than aiohttp ever sends at once: we wait for a slow client ourselves."""


class ByteCarrier(Protocol):
    """A connection that carries bytes; how they are split has no meaning."""

    async def receive(self) -> bytes | memoryview:
        """Return the next piece; empty when the client has gone."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a piece; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has gone.
        """
        ...

    async def close(self) -> None:
        """End the connection once all is sent."""
        ...


def is_upgrade(incoming: BaseRequest) -> bool:
    """Tell whether a client asks to switch protocols."""
    connection = incoming.headers.getall("Connection", [])
    return any("upgrade" in each.lower() for each in connection) and "Upgrade" in incoming.headers


def is_websocket(incoming: BaseRequest) -> bool:
    """Tell whether a client asks for a WebSocket."""
    return is_upgrade(incoming) and incoming.headers["Upgrade"].lower() == "websocket"


class _Drain:
    """Waits until a client has read enough, for any number of coroutines at once.

    aiohttp's own wait is one future for all of them, which the cancellation of one would break for good.
    """

    def __init__(self, incoming: BaseRequest, writer: AbstractStreamWriter) -> None:
        self._protocol = incoming.protocol
        self._writer = writer
        self._waiting: asyncio.Future[None] | None = None

    async def wait(self) -> None:
        if not self._protocol.writing_paused:
            return
        if self._waiting is None or self._waiting.done():
            self._waiting = asyncio.get_running_loop().create_task(self._writer.drain())
        await asyncio.shield(self._waiting)


class WebSocketCarrier:
    """Bytes in the binary messages of a WebSocket. `open` makes one."""

    def __init__(self, response: WebSocketResponse, drain: _Drain) -> None:
        self.response = response
        self._drain = drain
        self._received = 0

    @classmethod
    async def open(cls, incoming: BaseRequest, protocol: str) -> WebSocketCarrier:
        """Switch to a WebSocket with this subprotocol.

        Raises:
            ConnectionError: If the client has gone.
            HTTPBadRequest: If the client's handshake is invalid.
        """
        response = WebSocketResponse(
            protocols=(protocol,),
            compress=False,
            max_msg_size=_MOST_MESSAGE,
            writer_limit=_NEVER,
            decode_text=False,
        )
        writer = await response.prepare(incoming)
        return cls(response, _Drain(incoming, writer))

    async def receive(self) -> bytes | memoryview:
        """Return the next message; empty when the client has gone, or sends text, which has no meaning."""
        while True:
            message = await self.response.receive()
            self._received += 1
            if self._received % MESSAGES_AT_ONCE == 0:
                await asyncio.sleep(0)  # a queue of messages is taken without waiting
            if message.type is not WSMsgType.BINARY:
                return b""
            if message.data:
                return cast("bytes", message.data)

    async def send(self, data: bytes) -> None:
        """Send one message; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has gone.
        """
        await self.response.send_bytes(data)
        await self._drain.wait()

    async def close(self) -> None:
        """Say goodbye, and wait a little for the answer."""
        await self.response.close()


class RawCarrier:
    """Plain bytes on the connection of a request. `open` makes one."""

    def __init__(self, incoming: BaseRequest, response: StreamResponse, drain: _Drain) -> None:
        self.response = response
        self._incoming = incoming
        self._drain = drain
        self._received = ByteQueue(self._resume)
        self._is_paused = False

    @classmethod
    async def open(cls, incoming: BaseRequest, headers: Iterable[tuple[str, str]]) -> RawCarrier:
        """Switch protocols.

        Args:
            incoming: The request.
            headers: Headers of the response, of which one names the new protocol.

        Raises:
            ConnectionError: If the client has gone.
        """
        response = StreamResponse(status=101)
        for name, value in headers:
            response.headers.add(name, value)
        response.headers["Connection"] = "Upgrade"
        response.force_close()
        writer = await response.prepare(incoming)
        assert writer is not None  # or another response would have begun
        made = cls(incoming, response, _Drain(incoming, writer))
        # aiohttp hands all further bytes to what it takes for a parser of WebSocket frames.
        incoming.protocol.set_parser(cast("WebSocketReader", _Feeder(made)))
        incoming.protocol.keep_alive(False)
        return made

    def feed(self, data: bytes) -> None:
        """Take what the client sends."""
        self._received.feed(data)
        transport = self._incoming.transport
        if self._received.is_full and not self._is_paused and transport is not None:
            self._is_paused = True
            transport.pause_reading()

    def end(self) -> None:
        """The client has gone."""
        self._received.end()

    async def receive(self) -> bytes | memoryview:
        """Return the next bytes; empty when the client has gone."""
        return await self._received.read()

    async def send(self, data: bytes) -> None:
        """Send bytes; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has gone.
        """
        transport = self._incoming.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has gone")
        transport.write(data)
        await self._drain.wait()

    async def close(self) -> None:
        """End the connection once all is sent."""
        if self._incoming.transport is not None:
            self._incoming.transport.close()

    def _resume(self, _: int) -> None:
        transport = self._incoming.transport
        if self._is_paused and not self._received.is_full and transport is not None:
            self._is_paused = False
            transport.resume_reading()


class _Feeder:
    """What aiohttp takes for a parser."""

    def __init__(self, carrier: RawCarrier) -> None:
        self._carrier = carrier

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._carrier.feed(data)
        return False, b""

    def feed_eof(self) -> None:
        self._carrier.end()
