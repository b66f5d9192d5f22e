"""The messages of an exec over a WebSocket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.unit.server.web.masked_frames import mask_frame

from masthead_server.kubelet.streams import RemoteCommandOptions
from masthead_server.kubelet.websocket import V5, WebSocketStreams
from masthead_server.web.websocket import WebSocket

if TYPE_CHECKING:
    from collections.abc import Iterable

OPTIONS = RemoteCommandOptions("app", ("sh",), stdin=True, stdout=True, stderr=True, tty=False)


class ArrivedBytes:
    """A connection whose bytes have all arrived, so that receiving them never waits."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    async def receive(self) -> bytes:
        return next(self._pieces, b"")

    async def send(self, data: bytes) -> None:
        raise AssertionError(data)

    async def close(self) -> None:
        pass


async def test_a_flood_of_tiny_messages_is_received_in_turns_with_other_work() -> None:
    flood = mask_frame(2, b"\x04{}") * 20_000
    streams = WebSocketStreams(WebSocket(ArrivedBytes([flood]), V5, max_size=1024), OPTIONS)
    turns = 0
    async with asyncio.TaskGroup() as group:
        receiving = group.create_task(streams.receive())
        for turns in range(1000):  # noqa: B007 - used behind the loop
            if receiving.done():
                break
            await asyncio.sleep(0)
    assert 20_000 // 256 <= turns < 999
