"""A log over a WebSocket: the protocols ``binary.k8s.io`` and ``base64.binary.k8s.io``."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead_server.web.request_head import BadRequestError
from masthead_server.web.websocket import accept_websocket, split_protocols

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from masthead_server.web.request import Request
    from masthead_server.web.websocket import WebSocket

__all__ = ["LogSocket"]

_BASE64: Final = "base64.binary.k8s.io"
_PROTOCOLS: Final = frozenset({"binary.k8s.io", _BASE64})
_PIECE: Final = 2048
"""Bytes of one message, as kube-apiserver reads them."""
_MAX_IGNORED: Final = 64 * 1024
"""Bytes of a message from the client, which has nothing to say."""


class LogSocket:
    """Sends bytes as messages, in base64 if the client asks for it. `open` makes one.

    Args:
        socket: The WebSocket.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._is_base64 = socket.protocol == _BASE64

    @classmethod
    async def open(cls, incoming: Request) -> LogSocket:
        """Accept the handshake.

        Raises:
            ConnectionError: If the client has disconnected.
            BadRequestError: If the handshake is invalid, or if none of its protocols is known.
        """
        offered = split_protocols(incoming.headers.get("Sec-WebSocket-Protocol"))
        protocol = next((name for name in offered if name in _PROTOCOLS), "")
        if offered and not protocol:
            raise BadRequestError(403, "")
        return cls(await accept_websocket(incoming, protocol, max_size=_MAX_IGNORED))

    async def copy(self, send: Callable[[Callable[[bytes], Awaitable[None]]], Coroutine[object, object, None]]) -> None:
        """Send a log until its end, or until the client goes away, and close the connection.

        Args:
            send: Sends the log by the function that it gets.

        Raises:
            ConnectionError: If the client went away before the log began.
        """
        # An empty message tells the client that the log begins.
        await self._socket.send(b"", is_text=self._is_base64)
        await self._socket.run_until_closed(send(self._write))
        await self._socket.close()

    async def _write(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            if self._is_base64:
                await self._socket.send(base64.b64encode(piece), is_text=True)
            else:
                await self._socket.send(piece)
