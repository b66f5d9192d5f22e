"""WebSockets whose peer sends much of little: memory stays bounded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.websocket_peer import PROTOCOL, Peer, frame, websocket
from websockets.frames import Opcode

from masthead._transport.websocket import WebSocket
from masthead.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PINGS = 2000


class DeafConnection:
    """An `UpgradedResponse` to a peer that sends pings, and reads nothing."""

    status = 101
    reason = ""
    is_backed_up = True

    def __init__(self) -> None:
        self.written = 0
        self._parts = [frame(b"p" * 125, Opcode.PING) * PINGS, frame(b"message"), b""]

    def header(self, name: str) -> str:
        del name
        return ""

    def headers_of(self, name: str) -> list[str]:
        del name
        return []

    async def read(self) -> bytes:
        return b""

    async def chunks(self) -> AsyncIterator[bytes]:
        yield b""

    async def receive(self) -> bytes:
        return self._parts.pop(0)

    def write(self, data: bytes) -> None:
        self.written += len(data)

    async def drain(self) -> None:
        await asyncio.Event().wait()

    def close(self) -> None:
        pass


async def test_a_peer_that_pings_and_does_not_read_is_not_answered_without_limit() -> None:
    connection = DeafConnection()
    socket = WebSocket(connection, PROTOCOL, ping_interval=1e6, explain=lambda error: error)
    assert await socket.receive() == b"message"
    assert 0 < connection.written < PINGS * 125 / 2
    with pytest.raises(ProtocolError, match="ended without a close"):
        await socket.receive()


@pytest.mark.parametrize("piece", [b"", b"a", b"ab"], ids=["empty", "one byte", "two bytes"])
async def test_a_message_may_come_in_very_many_fragments(piece: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.send(frame(piece, fin=False) + frame(piece, Opcode.CONT, fin=False) * 2000)
        await peer.send(frame(b"end", Opcode.CONT), frame(b"next"))

    async with websocket(script) as socket:
        assert await socket.receive() == piece * 2001 + b"end"
        assert await socket.receive() == b"next"
