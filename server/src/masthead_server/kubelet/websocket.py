"""The streams of a remote command over a WebSocket: the protocols ``channel.k8s.io``, its versions 4 and 5, and base64.

The first byte of a message is its channel. In version 5, the client ends a channel with ``[255, channel]``. Messages of
``base64.channel.k8s.io`` are text: the digit of the channel, and the data in base64. Before version 4, the error
channel has the message of a failure, and nothing for a success; later it has a Status.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.kubelet.stdio import OutputStream, StdinPipe, TerminalSizes
from masthead_server.kubelet.streams import parse_terminal_size
from masthead_server.web.websocket import accept_websocket, split_protocols
from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from masthead_server.kubelet.streams import RemoteCommandOptions
    from masthead_server.web.request import Request
    from masthead_server.web.websocket import WebSocket
    from masthead_server.wire.plain import Plain

__all__ = ["V4", "V5", "WebSocketStreams", "choose_protocol", "open_websocket"]

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"
_BASE64: Final = frozenset({"base64.channel.k8s.io", "v4.base64.channel.k8s.io"})
_WITH_STATUS: Final = frozenset({V5, V4, "v4.base64.channel.k8s.io"})
_KUBELET_PROTOCOLS: Final = _BASE64 | {V4, "channel.k8s.io"}
"""The protocols that kube-apiserver leaves to the kubelet."""
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE = range(5)
_CLOSE: Final = 255
_DIGIT: Final = ord("0")
_MAX_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a message from a client, as Go's library limits it."""
_MAX_RESIZE_BYTES: Final = 4096


def choose_protocol(requested: str) -> str | None:
    """Choose a protocol from the client's ``Sec-WebSocket-Protocol``.

    kube-apiserver itself accepts version 5 at any position; a kubelet chooses the first protocol that it knows.

    Returns:
        The protocol; empty if the client asks for none, None if the server knows none of them.
    """
    names = split_protocols(requested)
    if V5 in names:
        return V5
    return next((name for name in names if name in _KUBELET_PROTOCOLS), None if names else "")


async def open_websocket(incoming: Request, protocol: str) -> WebSocket:
    """Accept an upgrade.

    Raises:
        BadRequestError: If the handshake is invalid.
        ConnectionError: If the client has disconnected.
    """
    return await accept_websocket(incoming, protocol, max_size=_MAX_BYTES)


class WebSocketStreams:
    """The streams of one exec or attach.

    Args:
        socket: The WebSocket, open.
        options: The streams that the client asks for.
    """

    def __init__(self, socket: WebSocket, options: RemoteCommandOptions) -> None:
        self._socket = socket
        self._options = options
        self._has_close_signal = socket.protocol == V5
        self._is_base64 = socket.protocol in _BASE64
        self._is_broken = False
        self._receiver: asyncio.Task[object] | None = None
        self.stdin = StdinPipe()
        self.sizes = TerminalSizes()
        out = _STDOUT if options.stdout else None
        # A terminal has one output.
        err = out if options.tty else _STDERR if options.stderr else None
        self.stdout = OutputStream(lambda data: self._send(out, data))
        self.stderr = OutputStream(lambda data: self._send(err, data))
        if not options.stdin:
            self.stdin.close()

    async def greet(self) -> None:
        """Send an empty message: the client learns that the connection is established.

        Raises:
            BrokenPipeError: If the client has disconnected.
        """
        options = self._options
        channel = _STDOUT if options.stdout else _STDERR if options.stderr else _ERROR
        await self._send(channel, b"")

    async def receive(self) -> None:
        """Feed what the client sends to stdin and sizes, until it goes away or breaks the protocol."""
        self._receiver = asyncio.current_task()
        # Text is bytes, too: the official Python client sends stdin so.
        while (message := await self._socket.receive()) is not None:
            data = self._decode(message.data)
            if data and not await self._take(data[0], data[1:]):
                return

    def _decode(self, data: bytes) -> bytes:
        """Return a message without its base64 encoding; empty if it is invalid, which Go's library ignores."""
        if not self._is_base64 or not data:
            return data
        channel = data[0] - _DIGIT
        if not 0 <= channel <= _RESIZE:
            return b""
        try:
            # Go skips line breaks.
            decoded = base64.b64decode(data[1:].translate(None, b"\r\n"), validate=True)
        except binascii.Error:
            return b""
        return bytes((channel,)) + decoded

    async def _take(self, channel: int, data: bytes) -> bool:
        """Take a message; return whether it is valid."""
        if channel == _CLOSE and self._has_close_signal:
            if len(data) != 1 or data[0] > _RESIZE:
                return False
            if data[0] == _STDIN:
                self.stdin.close()
        elif channel == _STDIN:
            await self.stdin.feed(data)
        elif channel == _RESIZE:
            self._resize(data)
        return True  # what else there is, is ignored

    def _resize(self, data: bytes) -> None:
        if len(data) > _MAX_RESIZE_BYTES:
            return
        with suppress(ValueError):
            size = parse_terminal_size(json.loads(data))
            if size is not None:
                self.sizes.put(size)

    async def finish(self, status: Plain) -> None:
        """Send the Status that ends the command, and close the connection.

        Raises:
            BrokenPipeError: If the client has disconnected.
        """
        if self._socket.protocol in _WITH_STATUS:
            await self._send(_ERROR, msgspec.json.encode(status))
        elif status["status"] != "Success":
            await self._send(_ERROR, text(status, "message").encode())
        if self._receiver is not None:
            # One coroutine receives: closing waits for the client's answer.
            self._receiver.cancel()
            await asyncio.wait([self._receiver])
        await self._socket.close()

    def break_off(self) -> None:
        """Expect nothing more of the client."""
        self._is_broken = True
        self.stdin.close()
        self.sizes.close()

    async def _send(self, channel: int | None, data: bytes) -> None:
        if self._is_broken or self._socket.is_closed:
            raise BrokenPipeError("the client is gone")
        if channel is None:
            return
        try:
            if self._is_base64:
                await self._socket.send(bytes((_DIGIT + channel,)) + base64.b64encode(data), is_text=True)
            else:
                await self._socket.send(bytes((channel,)) + data)
        except ConnectionError:
            self._is_broken = True
            raise BrokenPipeError("the client is gone") from None
