"""Bytes in the binary messages of a WebSocket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.web.frames import Opcode
from masthead_server.web.websocket import accept_websocket

if TYPE_CHECKING:
    from masthead_server.web.request import Request
    from masthead_server.web.websocket import WebSocket

__all__ = ["WebSocketStream"]

_MAX_MESSAGE: Final = 4 * 1024 * 1024


class WebSocketStream:
    """A stream of bytes over a WebSocket. `open` makes one.

    Args:
        socket: The WebSocket.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, incoming: Request, protocol: str) -> WebSocketStream:
        """Switch to a WebSocket with this subprotocol.

        Raises:
            ConnectionError: If the client has disconnected.
            BadRequestError: If the client's handshake is invalid.
        """
        return cls(await accept_websocket(incoming, protocol, max_size=_MAX_MESSAGE))

    async def receive(self) -> bytes:
        """Return the next message; empty after the client has disconnected, or sends text, which has no meaning."""
        while (message := await self._socket.receive()) is not None:
            if message.opcode is not Opcode.BINARY:
                return b""
            # An empty message would look like the end of the stream.
            if message.data:
                return message.data
        return b""

    async def send(self, data: bytes) -> None:
        """Send one message; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        await self._socket.send(data)

    async def close(self) -> None:
        """Say goodbye, and wait a little for the answer."""
        await self._socket.close()
