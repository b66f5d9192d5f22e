"""WebSockets: pings, goodbyes, and clients that break the protocol."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.server.web.masked_frames import mask_frame

from masthead.testing.virtual_time import in_virtual_time, now
from masthead_server.web.frames import Message, Opcode, encode_close, encode_frame
from masthead_server.web.websocket import WebSocket


class Wire:
    """Bytes in both directions, in memory."""

    def __init__(self, *received: bytes) -> None:
        self.received: asyncio.Queue[bytes] = asyncio.Queue()
        self.sent = b""
        self.is_closed = False
        for data in received:
            self.received.put_nowait(data)

    async def receive(self) -> bytes:
        return await self.received.get()

    async def send(self, data: bytes) -> None:
        if self.is_closed:
            raise ConnectionResetError
        self.sent += data

    async def close(self) -> None:
        self.is_closed = True


async def test_pings_are_answered_while_messages_are_received() -> None:
    wire = Wire(mask_frame(9, b"here?") + mask_frame(10, b"unsolicited") + mask_frame(2, b"data"))
    assert await WebSocket(wire, "", max_size=10).receive() == Message(Opcode.BINARY, b"data")
    assert wire.sent == encode_frame(10, b"here?")


@pytest.mark.parametrize("payload", [b"", (1000).to_bytes(2), (4000).to_bytes(2) + b"bye"])
async def test_a_goodbye_is_returned_and_the_connection_closed(payload: bytes) -> None:
    wire = Wire(mask_frame(8, payload) + mask_frame(2, b"late"))
    socket = WebSocket(wire, "", max_size=10)
    assert await socket.receive() is None
    assert await socket.receive() is None
    assert (wire.sent, wire.is_closed) == (encode_frame(8, payload[:2]), True)
    with pytest.raises(ConnectionError):
        await socket.send(b"")


async def test_a_broken_protocol_ends_behind_the_messages_before_it() -> None:
    wire = Wire(mask_frame(1, b"ok") + mask_frame(2, b"x" * 11))
    socket = WebSocket(wire, "", max_size=10)
    assert await socket.receive() == Message(Opcode.TEXT, b"ok")
    assert await socket.receive() is None
    assert wire.sent == encode_close(1009, "a message has at most 10 bytes")
    assert wire.is_closed


async def test_closing_waits_for_the_goodbye_of_the_client() -> None:
    wire = Wire(mask_frame(2, b"late"), mask_frame(8, (1000).to_bytes(2)))
    socket = WebSocket(wire, "", max_size=10)
    await socket.close()
    await socket.close()
    assert (wire.sent, wire.is_closed) == (encode_close(1000), True)
    assert wire.received.empty()


@in_virtual_time
async def test_closing_waits_five_seconds_at_most() -> None:
    wire = Wire()
    await WebSocket(wire, "", max_size=10).close()
    assert wire.is_closed
    assert now() == 5.0


async def test_the_end_of_the_connection_is_the_end_of_the_messages() -> None:
    socket = WebSocket(Wire(mask_frame(2, b"half")[:-1], b""), "", max_size=10)
    assert await socket.receive() is None
    assert socket.is_closed
