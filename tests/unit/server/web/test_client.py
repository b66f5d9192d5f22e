"""Responses of other servers: whole, cut short, or no HTTP at all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from masthead_server.web.client import MalformedResponseError, TruncatedResponseError, dial, encode_request, exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def fetch(
    response: bytes, method: str = "GET", body: AsyncIterator[bytes] | None = None
) -> tuple[int, str, bytes]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        connection = await dial(*listening.sockets[0].getsockname())
        async with exchange(connection, method, encode_request(method, "/", [("Host", "h")]), body) as answer:
            return answer.code, answer.reason, b"".join([piece async for piece in answer])
    finally:
        listening.close()


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", (200, "OK", b"hi")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more", (200, "OK", b"hi")),
        (
            b"HTTP/1.1 404 Not here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n",
            (404, "Not here", b"hi"),
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", (200, "OK", b"until the end")),
        (b"HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (200, "OK", b"")),
        (b"HTTP/1.1 204 Gone\r\n\r\n", (204, "Gone", b"")),
    ],
)
async def test_a_response_ends_where_its_framing_says(response: bytes, expected: tuple[int, str, bytes]) -> None:
    assert await fetch(response) == expected


async def test_a_response_to_head_has_no_body() -> None:
    assert await fetch(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD") == (200, "OK", b"")


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi",
    ],
)
async def test_a_response_that_is_cut_short_is_an_error(response: bytes) -> None:
    with pytest.raises(TruncatedResponseError):
        await fetch(response)


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 500_000,
    ],
)
async def test_a_response_that_is_no_http_is_an_error(response: bytes) -> None:
    with pytest.raises(MalformedResponseError):
        await fetch(response)


async def test_a_body_that_cannot_be_read_ends_the_exchange() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x"
        raise ConnectionResetError

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    connection = await dial(*listening.sockets[0].getsockname())
    with pytest.raises(TruncatedResponseError):
        async with exchange(connection, "POST", encode_request("POST", "/", [("Content-Length", "5")]), broken()):
            pass
    listening.close()


async def test_nothing_listens() -> None:
    listening = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    address = listening.sockets[0].getsockname()
    listening.close()
    await listening.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await dial(*address)
