"""Bytes in, responses out: however they are chunked, and whatever they are."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.transport.servers import chunk, http_response

from masthead._transport.connection import Connection
from masthead._transport.incoming_response import IncomingResponse
from masthead._transport.parser import Parser
from masthead._transport.pool import ConnectionPool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: nowhere\r\n\r\n"

WHOLE = {
    "a length": (http_response(b"body", "X: 1"), b"body"),
    "no body": (http_response(b""), b""),
    "chunks": (CHUNKED + chunk(b"bo") + chunk(b"dy") + b"0\r\n\r\n", b"body"),
    "chunks with extensions and trailers": (CHUNKED + b"4;a=b\r\nbody\r\n0\r\nX: 1\r\nY: 2\r\n\r\n", b"body"),
    "no content": (b"HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n", b""),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", b""),
    "informational responses": (INTERIM + INTERIM + http_response(b"body"), b"body"),
}


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def parsed(
    loop: asyncio.AbstractEventLoop, pieces: Iterable[bytes], method: str = "GET"
) -> tuple[IncomingResponse, Parser, bool]:
    """Parse these bytes; return the response and whether they are valid."""
    made = IncomingResponse(Connection(loop, ConnectionPool(loop, 0), None, 30.0), loop)
    parser = Parser()
    parser.begin(made, method)
    return made, parser, all(parser.feed(piece) for piece in pieces)


@pytest.mark.parametrize(("sent", "body"), WHOLE.values(), ids=WHOLE.keys())
@given(cuts=st.lists(st.integers(0, 150), max_size=6))
def test_a_response_is_parsed_the_same_however_it_is_chunked(
    loop: asyncio.AbstractEventLoop, sent: bytes, body: bytes, cuts: list[int]
) -> None:
    borders = sorted({0, *(cut for cut in cuts if cut < len(sent)), len(sent)})
    pieces = [sent[start:end] for start, end in itertools.pairwise(borders)]

    made, parser, makes_sense = parsed(loop, pieces)

    assert makes_sense
    assert made.is_complete
    assert made.take() == body
    assert parser.can_reuse
    assert b"link" not in made.headers
    assert b"y" not in made.headers


@given(noise=st.lists(st.binary(max_size=300), max_size=5), start=st.sampled_from([b"", b"HTTP/1.1 ", CHUNKED]))
def test_any_bytes_are_a_response_or_invalid(loop: asyncio.AbstractEventLoop, start: bytes, noise: list[bytes]) -> None:
    made, _, makes_sense = parsed(loop, [start, *noise] if start else noise)

    assert made.status or not made.is_complete
    assert makes_sense or not made.is_complete


@pytest.mark.parametrize("rest", [b"x", b"HTTP/1.1 200 OK", http_response(b"another"), b"\0"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_bytes_after_a_response_are_not_part_of_it_and_end_the_connection(
    loop: asyncio.AbstractEventLoop, rest: bytes, method: str
) -> None:
    made, parser, makes_sense = parsed(loop, [http_response(b"body" if method == "GET" else b"") + rest], method)

    assert makes_sense
    assert made.take() == (b"body" if method == "GET" else b"")
    assert (made.status, made.is_complete, parser.can_reuse) == (200, True, False)


@pytest.mark.parametrize(
    ("head", "can_reuse"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", False),
        (b"HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\n", True),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", True),
    ],
)
def test_the_head_decides_whether_the_connection_is_reused(
    loop: asyncio.AbstractEventLoop, head: bytes, *, can_reuse: bool
) -> None:
    made, parser, _ = parsed(loop, [head + b"Content-Length: 2\r\n\r\nok"])

    assert (made.take(), parser.can_reuse) == (b"ok", can_reuse)


def test_the_end_of_the_connection_ends_only_a_body_of_unknown_length(
    loop: asyncio.AbstractEventLoop,
) -> None:
    for sent, is_complete in {
        b"HTTP/1.1 200 OK\r\n\r\nall": True,
        b"HTTP/1.1 200 OK\r\n\r\n": True,
        http_response(b"all")[:-1]: False,
        CHUNKED + chunk(b"all"): False,
        b"HTTP/1.1 200 OK\r\nX: ": False,
        INTERIM: False,
        b"": False,
    }.items():
        made, parser, _ = parsed(loop, [sent])

        assert (parser.end(), made.is_complete) == (is_complete, is_complete)


def test_a_body_does_not_count_as_too_much(loop: asyncio.AbstractEventLoop) -> None:
    piece = chunk(b"x" * 2**16)
    made, _, makes_sense = parsed(loop, [CHUNKED, *[piece] * 8, b"0\r\n\r\n"])

    assert makes_sense
    assert len(made.take()) == 2**19


def test_padding_between_chunks_of_a_body_is_limited(
    loop: asyncio.AbstractEventLoop,
) -> None:
    _, _, makes_sense = parsed(loop, [CHUNKED, b"1;", *[b"x" * 2**15] * 5])

    assert not makes_sense
