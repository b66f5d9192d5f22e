"""Responses that are cut short, garbled or no HTTP at all: one kind of error, whatever it was."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import OK, always, chunk, http_response, never, once, receive, serving

from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.errors import DeadlineError, ProtocolError, TransportError

if TYPE_CHECKING:
    from tests.unit.transport.servers import Handler

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PACKED = gzip.compress(b"x" * 5000)

BROKEN = {
    "no response": b"",
    "half a status line": b"HTTP/1.1 20",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "not http": b"SSH-2.0-OpenSSH_9.6\r\n",
    "binary": bytes(range(256)),
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "the same length twice": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "a length and chunks": CHUNKED[:-2] + b"Content-Length: 2\r\n\r\n" + chunk(b"ab") + b"0\r\n\r\n",
    "chunks in another coding": CHUNKED.replace(b"chunked", b"gzip, chunked") + b"0\r\n\r\n",
    "a coding without chunks": CHUNKED.replace(b"chunked", b"gzip") + b"ab",
    "another protocol": b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "another protocol without a name": b"HTTP/1.1 101 Switching\r\n\r\n",
    "an invalid status": b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n",
    "a header over two lines": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "an informational response only": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "words in between without an end": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000,
    "headers without an end": b"HTTP/1.1 200 OK" + b"\r\nX: y" * 50_000,
    "a trailer without an end": CHUNKED + b"0\r\nX: " + b"y" * 400_000,
    "a length that is no number": b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nab",
    "a header without an end": b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000,
    "a header that is too long": http_response(b"", "X: " + "y" * 200_000),
    "half a body": b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    "no end of chunks": CHUNKED + chunk(b"half"),
    "half a chunk": CHUNKED + b"a\r\nhalf",
    "a chunk of no length": CHUNKED + b"xyz\r\nhalf\r\n0\r\n\r\n",
    "a chunk that is longer than its size": CHUNKED + b"2\r\nhalf\r\n0\r\n\r\n",
    "invalid gzip": http_response(b"not gzip", "Content-Encoding: gzip"),
    "gzip that is garbled": http_response(PACKED[:20] + b"\xff" * 9 + PACKED[29:], "Content-Encoding: gzip"),
    "gzip without its end": http_response(PACKED[:-9], "Content-Encoding: gzip"),
    "gzip with a wrong sum": http_response(PACKED[:-8] + b"\0" * 8, "Content-Encoding: gzip"),
    "gzip and half a body": http_response(PACKED, "Content-Encoding: gzip")[:-9],
}


def reset_after(sent: bytes) -> Handler:
    """Send something, then reset the connection."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(sent)
        await writer.drain()
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return handle


@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_broken_response_is_a_protocol_error(sent: bytes, method: str) -> None:
    async with serving(once(sent)) as server:
        transport = HttpTransport(server.url, tls=None)
        failure = await _failure(transport, TransportRequest(method, "/x?token=s3cret", [("Authorization", "s3cret")]))
        await transport.close()

    assert type(failure) is ProtocolError
    assert str(failure).startswith(f"{method} /x: ")
    assert f"127.0.0.1:{server.port}" in str(failure)
    assert (failure.verb, failure.url) == (method, "/x")
    assert_no_secret(failure)


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200", CHUNKED, CHUNKED + chunk(b"x"), http_response(b"12345")[:-2]])
async def test_a_connection_that_is_reset_is_a_protocol_error(sent: bytes) -> None:
    async with serving(reset_after(sent)) as server:
        transport = HttpTransport(server.url, tls=None)
        failure = await _failure(transport, TransportRequest("POST", "/x"))
        await transport.close()

    assert type(failure) is ProtocolError


async def test_an_error_in_a_body_is_raised_after_the_valid_bytes() -> None:
    received = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(CHUNKED + chunk(b"one\n"))
        await received.wait()
        writer.write(b"zz\r\n")
        await reader.read()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        chunks = (await transport.send(TransportRequest("GET", "/x"))).chunks()
        assert await anext(chunks) == b"one\n"
        received.set()
        with pytest.raises(ProtocolError, match=r"^GET /x: the response of 127.0.0.1:\d+ was cut short or garbled"):
            await anext(chunks)
        await transport.close()


async def test_bytes_after_the_end_do_not_reach_the_next_response() -> None:
    async with serving(always(http_response(b"ok") + b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(3):
            response = await transport.send(TransportRequest("GET", "/"))
            assert (response.status, await response.read()) == (200, b"ok")
        await transport.close()


async def test_the_transport_works_after_a_broken_response() -> None:
    sent = [b"rubbish\r\n\r\n", OK]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        writer.write(sent.pop(0))
        await writer.drain()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        with pytest.raises(ProtocolError, match="not HTTP"):
            await transport.send(TransportRequest("POST", "/"))

        assert await (await transport.send(TransportRequest("POST", "/"))).read() == b"ok"
        await transport.close()


@pytest.mark.parametrize(
    ("total", "read_timeout", "problem"),
    [
        (0.03, None, "no complete response from 127.0.0.1:{} within 0.03 s"),
        (None, 0.03, "127.0.0.1:{} sent nothing for 0.03 s"),
    ],
)
async def test_a_silent_server_exceeds_the_deadline(
    total: float | None, read_timeout: float | None, problem: str
) -> None:
    async with serving(never) as server:
        transport = HttpTransport(server.url, tls=None)
        with pytest.raises(DeadlineError) as caught:
            await transport.send(
                TransportRequest("GET", "/x", [("Authorization", "s3cret")], timeout=total, read_timeout=read_timeout)
            )
        await transport.close()

    assert problem.format(server.port) in str(caught.value)
    assert isinstance(caught.value, TimeoutError)
    assert_no_secret(caught.value)


async def test_a_cancelled_request_leaves_nothing_behind() -> None:
    received, gone = asyncio.Event(), asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receive(reader)
        received.set()
        del writer
        assert await reader.read() == b""
        gone.set()

    async with serving(handle) as server:
        transport = HttpTransport(server.url, tls=None)
        async with asyncio.TaskGroup() as tasks:
            request = tasks.create_task(transport.send(TransportRequest("GET", "/")))
            await received.wait()
            request.cancel()
        assert request.cancelled()
        await gone.wait()
        await transport.close()


async def _failure(transport: HttpTransport, request: TransportRequest) -> TransportError:
    with pytest.raises(TransportError) as caught:
        await (await transport.send(request)).read()
    return caught.value


def assert_no_secret(error: BaseException | None) -> None:
    while error is not None:
        assert "s3cret" not in repr(error)
        assert "s3cret" not in str(error)
        assert not type(error).__module__.startswith("httptools")
        error = error.__cause__ or error.__context__
