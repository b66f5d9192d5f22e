"""Compressed bodies, and decompression bombs."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import math
import time
import zlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.transport.servers import ReceivedRequest, always, http_response, serving

from masthead._rest.connect import connect
from masthead._rest.response import read_bounded
from masthead._rest.settings import RestSettings
from masthead._transport.contract import TransportRequest
from masthead._transport.decompression import Gunzip, TooLargeError, decompress_all
from masthead._transport.http import HttpTransport
from masthead.config import Config
from masthead.errors import ForbiddenError, ProtocolError, ResponseTooLargeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._rest.client import RestClient

MIB = 2**20
PACKED = "Content-Encoding: gzip"
JSON = "Content-Type: application/json"
BOMB = gzip.compress(b"\0" * 16 * MIB)


def unpacked(unpack: Gunzip) -> bytes:
    steps: list[bytes] = []
    while unpack.is_waiting:
        steps.append(unpack.step())
    return b"".join(steps)


@asynccontextmanager
async def client_of(url: str, settings: RestSettings) -> AsyncIterator[RestClient]:
    made = connect(Config(server=url), settings, connections=4)
    try:
        yield made
    finally:
        await made.close()


@given(body=st.binary(max_size=3000), cuts=st.lists(st.integers(0, 3000), max_size=8), members=st.integers(1, 3))
def test_gzip_is_decompressed_however_it_is_chunked(body: bytes, cuts: list[int], members: int) -> None:
    packed = gzip.compress(body) * members
    unpack = Gunzip()
    borders = sorted({0, *(cut for cut in cuts if cut < len(packed)), len(packed)})
    plain = b""
    for a, b in itertools.pairwise(borders):
        unpack.put(packed[a:b])
        plain += unpacked(unpack)
    unpack.finish()

    assert plain == body * members


@given(body=st.binary(max_size=3000), data=st.data())
def test_truncated_gzip_is_an_error(body: bytes, data: st.DataObject) -> None:
    packed = gzip.compress(body)
    unpack = Gunzip()
    unpack.put(packed[: data.draw(st.integers(1, len(packed) - 1))])
    unpacked(unpack)

    with pytest.raises(zlib.error):
        unpack.finish()


@pytest.mark.parametrize("length", [2**18 - 1, 2**18, 2**18 + 1, 2**18 + 300, 2**20])
def test_no_bytes_are_lost_between_decompression_steps(length: int) -> None:
    body = b"\0" * length
    unpack = Gunzip()
    unpack.put(gzip.compress(body))
    assert unpacked(unpack) == body
    unpack.finish()


def test_a_decompression_step_is_short_whatever_it_reads() -> None:
    unpack = Gunzip()
    unpack.put(BOMB)
    lengths: list[int] = []
    while unpack.is_waiting:
        lengths.append(len(unpack.step()))
    assert max(lengths) <= 2**18
    assert sum(lengths) == 16 * MIB


def test_thousands_of_empty_files_in_a_row_take_no_time() -> None:
    """The bytes after the end of a gzip member are copied: for all members, that would be 40 GB here."""
    unpack = Gunzip()
    unpack.put(gzip.compress(b"") * 64_000)
    began = time.process_time()
    assert unpacked(unpack) == b""
    assert time.process_time() - began < 20


async def test_a_large_body_is_decompressed_in_a_thread() -> None:
    unpack = Gunzip()
    unpack.put(BOMB)
    turns = 0
    is_done = False

    async def count() -> None:
        nonlocal turns
        while not is_done:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(count())
        await asyncio.sleep(0)
        before = turns
        assert len(await decompress_all(unpack, math.inf)) == 16 * MIB
        is_done = True
    assert turns > before


async def test_a_cancelled_decompression_leaves_no_running_thread() -> None:
    unpack = Gunzip()
    unpack.put(BOMB * 128)  # two gigabytes
    task = asyncio.get_running_loop().create_task(decompress_all(unpack, math.inf))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_default_executor()
    assert unpack.is_waiting


async def test_decompression_stops_at_the_size_limit() -> None:
    unpack = Gunzip()
    unpack.put(BOMB)
    with pytest.raises(TooLargeError):
        await decompress_all(unpack, 3 * MIB)
    assert 11 * MIB < len(unpacked(unpack)) < 13 * MIB


@pytest.mark.parametrize(
    "body",
    [
        http_response(BOMB, JSON, PACKED),
        http_response(b" " * 2 * MIB, JSON),
        http_response(gzip.compress(b"\0" * 2 * MIB), PACKED),
    ],
    ids=["packed", "plain", "just above"],
)
async def test_a_response_that_is_too_large_is_an_error_that_names_the_option(body: bytes) -> None:
    seen: list[ReceivedRequest] = []
    settings = RestSettings(max_response_bytes=MIB)
    async with serving(always(body, seen)) as served, client_of(served.url, settings) as rest:
        with pytest.raises(ResponseTooLargeError, match=r"more than 1,048,576 bytes.*raise max_response_bytes"):
            await rest.get("/api/v1/pods")
    assert len(seen) == 1  # it would be as large once more


async def test_an_endless_response_is_aborted_at_the_limit() -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with serving(flood) as served:
        transport = HttpTransport(served.url, tls=None, max_response_bytes=MIB)
        response = await transport.send(TransportRequest("GET", "/"))
        with pytest.raises(ResponseTooLargeError):
            await response.read()
        await transport.close()


async def test_a_decompressed_error_stays_short() -> None:
    async with serving(always(http_response(BOMB, PACKED, status="403 Forbidden"))) as served:
        transport = HttpTransport(served.url, tls=None)
        body = await read_bounded(await transport.send(TransportRequest("GET", "/")))
        assert len(body) == MIB
        await transport.close()
        async with client_of(served.url, RestSettings(attempts=1)) as rest:
            with pytest.raises(ForbiddenError) as caught:
                await rest.get("/version")
    assert len(str(caught.value)) < 1000


async def test_a_compressed_stream_yields_small_pieces_and_lets_other_tasks_run() -> None:
    async with serving(always(http_response(BOMB, PACKED))) as served:
        transport = HttpTransport(served.url, tls=None)
        response = await transport.send(TransportRequest("GET", "/", read_timeout=60.0))
        turns = pieces = total = 0
        is_done = False

        async def count() -> None:
            nonlocal turns
            while not is_done:
                turns += 1
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            group.create_task(count())
            async for piece in response.chunks():
                assert len(piece) <= 2**18
                pieces += 1
                total += len(piece)
            is_done = True
        await transport.close()
    assert total == 16 * MIB
    assert turns >= pieces - 2


ODD_HEADS = {
    "a length of 5000 digits": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "a chunk of 5000 digits": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 5000 + b"\r\n",
    "a status of 5000 digits": b"HTTP/1.1 " + b"2" * 5000 + b" OK\r\n\r\n",
    "a version of 5000 digits": b"HTTP/" + b"1" * 5000 + b" 200 OK\r\n\r\n",
    "ten thousand headers": b"HTTP/1.1 200 OK\r\n" + b"a:\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n",
    "a header of a megabyte": b"HTTP/1.1 200 OK\r\nWarning: " + b"x" * MIB + b"\r\nContent-Length: 0\r\n\r\n",
    "ten thousand trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    + b"a:\r\n" * 10_000
    + b"\r\n",
}


@pytest.mark.parametrize("head", list(ODD_HEADS))
async def test_an_odd_head_is_a_protocol_error(head: str) -> None:
    async with serving(always(ODD_HEADS[head])) as served:
        transport = HttpTransport(served.url, tls=None)
        with pytest.raises(ProtocolError):
            await (await transport.send(TransportRequest("GET", "/"))).read()
        await transport.close()
