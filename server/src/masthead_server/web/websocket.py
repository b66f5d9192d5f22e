"""WebSockets: messages on the connection of a request."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead_server.web.frames import FrameParser, Message, Opcode, encode_close, encode_frame
from masthead_server.web.request_head import BadRequestError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from masthead_server.web.byte_stream import ByteStream
    from masthead_server.web.frames import FrameError
    from masthead_server.web.request import Request

__all__ = ["WebSocket", "accept_websocket", "split_protocols"]

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_VERSION: Final = "13"
_NORMAL: Final = 1000
_CLOSE_SECONDS: Final = 5.0
"""Time for the client to confirm the end of the connection."""
_MESSAGES_AT_ONCE: Final = 256
"""Messages that are received before other clients have their turn."""


async def accept_websocket(request: Request, protocol: str, *, max_size: int) -> WebSocket:
    """Accept the handshake of a WebSocket.

    Args:
        request: The request, which asks for one.
        protocol: The subprotocol, which the client must have offered; empty for none.
        max_size: Bytes of a message from the client.

    Raises:
        BadRequestError: If the handshake is invalid.
        ConnectionError: If the client has disconnected.
    """
    key = _check_handshake(request)
    headers = [("Upgrade", "websocket"), ("Sec-WebSocket-Accept", _answer_key(key))]
    if protocol:
        headers.append(("Sec-WebSocket-Protocol", protocol))
    return WebSocket(await request.switch(headers), protocol, max_size=max_size)


def split_protocols(requested: str) -> list[str]:
    """Return the subprotocols of a ``Sec-WebSocket-Protocol`` header, in the order of the client."""
    return [name.strip() for name in requested.split(",") if name.strip()]


async def _until_gone(sending: Coroutine[object, object, None]) -> None:
    with suppress(ConnectionError):
        await sending


def _check_handshake(request: Request) -> str:
    """Check a handshake; returns its key."""
    if not request.is_websocket:
        raise BadRequestError(400, "No WebSocket UPGRADE hdr: Can 'Upgrade' only to 'websocket'.")
    if request.headers.get("Sec-WebSocket-Version") != _VERSION:
        raise BadRequestError(400, "Unsupported version: only version 13 is served.")
    key = request.headers.get("Sec-WebSocket-Key")
    try:
        is_valid = len(base64.b64decode(key, validate=True)) == 16
    except (binascii.Error, ValueError):
        is_valid = False
    if not is_valid:
        raise BadRequestError(400, "Handshake error: invalid Sec-WebSocket-Key.")
    return key


def _answer_key(key: str) -> str:
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()


class WebSocket:
    """Messages on a connection. One coroutine receives; any number send.

    Args:
        stream: The bytes.
        protocol: The subprotocol.
        max_size: Bytes of a message from the client.

    Attributes:
        protocol: The subprotocol.
        is_closed: Whether nothing can be sent any more.
    """

    def __init__(self, stream: ByteStream, protocol: str, *, max_size: int) -> None:
        self.protocol = protocol
        self.is_closed = False
        self._stream = stream
        self._parser = FrameParser(max_size)
        self._messages: deque[Message] = deque()
        self._has_peer_closed = False
        self._received = 0

    async def receive(self) -> Message | None:
        """Return the next message of the client; None when there are no more. Control frames are answered here."""
        while not self._has_peer_closed:
            if self._messages:
                message = self._messages.popleft()
                self._received += 1
                if self._received % _MESSAGES_AT_ONCE == 0:
                    await asyncio.sleep(0)  # messages that are there are taken without waiting
                if message.opcode in {Opcode.TEXT, Opcode.BINARY}:
                    return message
                await self._answer(message)
            elif self._parser.error is not None:
                await self._fail(self._parser.error)
            elif self._parser.has_more:
                await asyncio.sleep(0)  # other clients have their turn between the frames of a flood
                self._messages += self._parser.feed(b"")
            elif data := await self._stream.receive():
                self._messages += self._parser.feed(data)
            else:
                self._has_peer_closed = self.is_closed = True
        return None

    async def send(self, data: bytes, *, is_text: bool = False) -> None:
        """Send a message; waits while the client reads too slowly.

        Args:
            data: The message; UTF-8 if it is text.
            is_text: Whether the message is text, rather than binary.

        Raises:
            ConnectionError: If the connection is closed.
        """
        if self.is_closed:
            raise ConnectionResetError("the connection is closed")
        await self._stream.send(encode_frame(Opcode.TEXT if is_text else Opcode.BINARY, data))

    async def run_until_closed(self, sending: Coroutine[object, object, None]) -> None:
        """Run what sends messages, until it is done or the client goes away. Messages of the client are ignored."""
        async with asyncio.TaskGroup() as group:
            # One coroutine receives at a time: closing does so after this.
            tasks = group.create_task(_until_gone(sending)), group.create_task(self._ignore_messages())
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()

    async def _ignore_messages(self) -> None:
        while await self.receive() is not None:
            pass

    async def close(self, code: int = _NORMAL, reason: str = "") -> None:
        """Say goodbye, wait a little for the answer, and end the connection. Closing twice does nothing."""
        with suppress(ConnectionError, TimeoutError):
            if not self.is_closed:
                self.is_closed = True
                await self._stream.send(encode_close(code, reason))
            # A connection that is closed while the client still sends is reset, which may cost the client the last
            # bytes.
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._ignore_messages()
        await self._stream.close()

    async def _answer(self, message: Message) -> None:
        """Answer a control frame."""
        if message.opcode is Opcode.PING and not self.is_closed:
            # Waits for a client that reads too slowly, so that it cannot pile up answers.
            with suppress(ConnectionError):
                await self._stream.send(encode_frame(Opcode.PONG, message.data))
        elif message.opcode is Opcode.CLOSE:
            self._has_peer_closed = True
            if not self.is_closed:
                self.is_closed = True
                # The code is echoed, the reason is not.
                with suppress(ConnectionError):
                    await self._stream.send(encode_frame(Opcode.CLOSE, message.data[:2]))
                await self._stream.close()

    async def _fail(self, error: FrameError) -> None:
        """End the connection, because the client has broken the protocol."""
        self._has_peer_closed = True
        if not self.is_closed:
            self.is_closed = True
            with suppress(ConnectionError):
                await self._stream.send(encode_close(error.code, error.reason))
        await self._stream.close()
