"""The messages of an exec over a WebSocket, as aiohttp queues them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, cast

from aiohttp import WSMessage, WSMsgType

from masthead_server.kubelet.streams import RemoteCommandOptions
from masthead_server.kubelet.websocket import V5, WebSocketStreams

if TYPE_CHECKING:
    from aiohttp.web_ws import WebSocketResponse

OPTIONS = RemoteCommandOptions("app", ("sh",), stdin=True, stdout=True, stderr=True, tty=False)


class QueuedMessages:
    """A WebSocket whose messages have all arrived, so that receiving them never waits."""

    ws_protocol = V5

    def __init__(self, messages: list[WSMessage]) -> None:
        self._messages = deque(messages)

    async def receive(self) -> WSMessage:
        return self._messages.popleft()


def streams_of(*messages: WSMessage) -> WebSocketStreams:
    closed = WSMessage(WSMsgType.CLOSED, None, None)
    return WebSocketStreams(cast("WebSocketResponse", QueuedMessages([*messages, closed])), OPTIONS)


async def test_a_flood_of_tiny_messages_is_received_in_turns_with_other_work() -> None:
    streams = streams_of(*[WSMessage(WSMsgType.BINARY, b"\x04{}", None)] * 20_000)
    turns = 0
    async with asyncio.TaskGroup() as group:
        receiving = group.create_task(streams.receive())
        for turns in range(1000):  # noqa: B007 - used behind the loop
            if receiving.done():
                break
            await asyncio.sleep(0)
    assert 20_000 // 256 <= turns < 999
