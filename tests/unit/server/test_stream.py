"""Large responses are buffered in the server without being copied until the client reads them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from masthead_server.clock import SystemClock
from masthead_server.response_limits import LARGE_RESPONSE
from masthead_server.stream import send_body
from masthead_server.web.server import HttpServer

if TYPE_CHECKING:
    from masthead_server.web.request import Request

BODY = bytes(range(256)) * (LARGE_RESPONSE // 2)  # more than sockets hold


async def test_unread_bytes_of_a_slow_reader_are_not_copied() -> None:
    transports: list[asyncio.Transport] = []

    async def handle(incoming: Request) -> None:
        assert incoming.connection.transport is not None
        transports.append(incoming.connection.transport)
        await send_body(incoming, 200, (), BODY)

    front = HttpServer(handle, clock=SystemClock(), logger=logging.getLogger(__name__))
    listening = await asyncio.get_running_loop().create_server(front, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname(), limit=1024)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(60):
        while not transports or not transports[0].get_write_buffer_size():  # noqa: ASYNC110 - there is no event for a full buffer
            await asyncio.sleep(0)
        assert transports[0].get_write_buffer_size() <= 2 * LARGE_RESPONSE
        head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(BODY) in head
    assert body == BODY
    writer.close()
    listening.close()
    await front.shut_down(1)
