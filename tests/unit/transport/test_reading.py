"""Bodies: read whole or as a stream, compressed or not, abandoned half-way."""

from __future__ import annotations

import asyncio
import gc
import gzip
import zlib
from typing import TYPE_CHECKING

import pytest
from tests.unit.transport.servers import OK, always, chunk, http_response, once, receive, serving

from masthead._errors.base import format_seconds
from masthead._transport.contract import TransportRequest
from masthead._transport.http import HttpTransport
from masthead.errors import ClosedError, DeadlineError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKED_GZIP = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"


class Stream:
    """A server whose response bodies a test writes piece by piece."""

    def __init__(self, head: bytes = CHUNKED) -> None:
        self.head = head
        self.writer: asyncio.StreamWriter | None = None
        self.gone = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await receive(reader)
                self.writer = writer
                writer.write(self.head)
        finally:
            self.gone.set()

    def send(self, data: bytes) -> None:
        assert self.writer is not None
        self.writer.write(data)


@pytest.fixture
async def stream() -> Stream:
    return Stream()


@pytest.fixture
async def transport(stream: Stream) -> AsyncIterator[HttpTransport]:
    async with serving(stream.handle) as server:
        made = HttpTransport(server.url, tls=None)
        yield made
        await made.close()


async def test_a_stream_is_read_as_it_arrives(transport: HttpTransport, stream: Stream) -> None:
    chunks = (await transport.send(TransportRequest("GET", "/?watch=1"))).chunks()
    received: list[bytes] = []
    for line in (b"one\n", b"two\n"):
        stream.send(chunk(line))
        received.append(await anext(chunks))
    stream.send(b"0\r\n\r\n")

    assert [each async for each in chunks] == []
    assert received == [b"one\n", b"two\n"]


async def test_a_compressed_stream_is_read_as_it_arrives(transport: HttpTransport, stream: Stream) -> None:
    stream.head = CHUNKED_GZIP
    pack = zlib.compressobj(wbits=31)
    chunks = (await transport.send(TransportRequest("GET", "/?watch=1"))).chunks()
    received: list[bytes] = []
    for line in (b"one\n", b"two\n"):
        stream.send(chunk(pack.compress(line) + pack.flush(zlib.Z_SYNC_FLUSH)))
        received.append(await anext(chunks))
    stream.send(chunk(pack.flush()) + b"0\r\n\r\n")

    assert [each async for each in chunks] == []
    assert received == [b"one\n", b"two\n"]


async def test_a_compressed_body_is_decompressed() -> None:
    body = b'{"kind":"PodList"}' * 10_000
    async with serving(always(http_response(gzip.compress(body), "Content-Encoding: gzip"))) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(2):
            assert await (await transport.send(TransportRequest("GET", "/"))).read() == body
        await transport.close()

        assert server.connections == 1


async def test_a_large_body_is_read_whole() -> None:
    body = bytes(range(256)) * 2**14
    async with serving(always(http_response(body))) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(2):
            assert await (await transport.send(TransportRequest("GET", "/"))).read() == body
        await transport.close()

        assert server.connections == 1


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async with serving(once(b"HTTP/1.1 200 OK\r\n\r\nall of it")) as server:
        transport = HttpTransport(server.url, tls=None)

        assert await (await transport.send(TransportRequest("GET", "/"))).read() == b"all of it"
        await transport.close()


async def test_an_unrequested_encoding_is_a_protocol_error() -> None:
    async with serving(always(http_response(b"?", "Content-Encoding: br"))) as server:
        transport = HttpTransport(server.url, tls=None)
        with pytest.raises(ProtocolError, match="'br', which was not requested"):
            await transport.send(TransportRequest("GET", "/"))
        await transport.close()


async def test_the_read_timeout_is_measured_from_byte_to_byte(transport: HttpTransport, stream: Stream) -> None:
    chunks = (await transport.send(TransportRequest("GET", "/watch?x=y", read_timeout=0.05))).chunks()
    stream.send(chunk(b"one\n"))
    assert await anext(chunks) == b"one\n"

    with pytest.raises(DeadlineError, match=r"^GET /watch: 127.0.0.1:\d+ sent nothing for 0.05 s") as caught:
        await anext(chunks)
    await stream.gone.wait()

    assert (caught.value.verb, caught.value.url) == ("GET", "/watch")


async def test_the_total_timeout_includes_the_body(transport: HttpTransport, stream: Stream) -> None:
    response = await transport.send(TransportRequest("GET", "/x", timeout=0.05))
    stream.send(chunk(b"half of"))
    with pytest.raises(DeadlineError, match=r"no complete response from 127.0.0.1:\d+ within 0.05 s"):
        await response.read()
    await stream.gone.wait()


async def test_a_slow_reader_applies_backpressure(transport: HttpTransport, stream: Stream) -> None:
    chunks = (await transport.send(TransportRequest("GET", "/"))).chunks()
    for _ in range(256):
        stream.send(chunk(b"x" * 2**16))
    stream.send(b"0\r\n\r\n")
    total, most = 0, 0
    async for piece in chunks:
        total, most = total + len(piece), max(most, len(piece))
        for _ in range(20):
            await asyncio.sleep(0)  # more could come, if it were let in

    assert total == 2**24
    assert most <= 2**19 + 2**18


async def test_a_paused_reader_does_not_trigger_the_read_timeout(transport: HttpTransport, stream: Stream) -> None:
    chunks = (await transport.send(TransportRequest("GET", "/", read_timeout=0.05))).chunks()
    for _ in range(256):
        stream.send(chunk(b"x" * 2**16))
    stream.send(b"0\r\n\r\n")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.15):
            await stream.gone.wait()

    assert sum([len(piece) async for piece in chunks]) == 2**24


async def test_a_response_has_one_reader(transport: HttpTransport, stream: Stream) -> None:
    response = await transport.send(TransportRequest("GET", "/"))
    async with asyncio.TaskGroup() as group:
        first = group.create_task(_outcome(anext(response.chunks())))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="one reader"):
            await anext(response.chunks())
        stream.send(chunk(b"one"))

    assert first.result() == b"one"


async def test_informational_responses_are_skipped() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n"
    async with serving(always(interim + http_response(b"ok"))) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(2):
            response = await transport.send(TransportRequest("POST", "/", [("Expect", "100-continue")], b"{}"))
            assert (response.status, response.header("X"), await response.read()) == (200, "", b"ok")
        await transport.close()

        assert server.connections == 1


async def test_closing_half_way_frees_the_connection(transport: HttpTransport, stream: Stream) -> None:
    response = await transport.send(TransportRequest("GET", "/"))
    response.close()
    response.close()
    await stream.gone.wait()

    with pytest.raises(ClosedError, match="GET /: closed before all"):
        await response.read()


async def test_closing_wakes_a_pending_reader(transport: HttpTransport) -> None:
    response = await transport.send(TransportRequest("GET", "/"))
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(_outcome(response.read()))
        await asyncio.sleep(0)
        response.close()

    assert isinstance(reading.result(), ClosedError)


async def test_closing_a_fully_read_response_keeps_the_connection() -> None:
    async with serving(always(OK)) as server:
        transport = HttpTransport(server.url, tls=None)
        for _ in range(3):
            response = await transport.send(TransportRequest("GET", "/"))
            await response.read()
            response.close()
        await transport.close()

        assert server.connections == 1


async def test_a_cancelled_reader_leaves_nothing_behind(transport: HttpTransport, stream: Stream) -> None:
    response = await transport.send(TransportRequest("GET", "/"))
    stream.send(chunk(b"one"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await response.read()

    await stream.gone.wait()


@pytest.mark.slow
async def test_an_unread_response_is_closed_with_its_last_reference(transport: HttpTransport, stream: Stream) -> None:
    response = await transport.send(TransportRequest("GET", "/"))
    del response
    gc.collect()

    await stream.gone.wait()


async def test_an_iteration_that_is_left_early_ends_with_its_last_reference(
    transport: HttpTransport, stream: Stream
) -> None:
    chunks = (await transport.send(TransportRequest("GET", "/"))).chunks()
    stream.send(chunk(b"one"))
    async for _ in chunks:
        break
    del chunks

    await stream.gone.wait()


async def test_streams_do_not_wait_for_each_other(transport: HttpTransport) -> None:
    streams = [await transport.send(TransportRequest("GET", f"/{number}")) for number in range(20)]

    assert [stream.status for stream in streams] == [200] * 20


async def _outcome(work: object) -> object:
    assert asyncio.iscoroutine(work)
    try:
        return await work
    except Exception as error:  # noqa: BLE001
        return error


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.999981, "1"),
        (0.396308, "0.4"),
        (0.25, "0.25"),
        (0.0301, "0.03"),
        (29.99993, "30"),
        (3600.0, "3600"),
        (0.0, "0"),
    ],
)
def test_times_in_messages_are_round(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
