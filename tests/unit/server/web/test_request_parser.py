"""Requests: parsed alike however they arrive, and refused where two servers could understand them differently."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.web.request_head import BadRequestError, RequestHead, split_target
from masthead_server.web.request_parser import RequestParser


class Received:
    """What a parser has found."""

    def __init__(self) -> None:
        self.requests: list[tuple[RequestHead, bytearray]] = []
        self.ended = 0

    def on_request(self, head: RequestHead) -> None:
        self.requests.append((head, bytearray()))

    def on_body(self, piece: bytes) -> None:
        self.requests[-1][1].extend(piece)

    def on_end(self) -> None:
        self.ended += 1


def parse(data: bytes, cuts: list[int] | None = None) -> tuple[Received, BadRequestError | None]:
    received = Received()
    parser = RequestParser(received)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts or []), len(data)]
    try:
        for start, end in pairwise(edges):
            parser.feed(data[start:end])
    except BadRequestError as refusal:
        return received, refusal
    finally:
        parser.close()
    return received, None


def request(*headers: str, line: str = "POST /a?b=c HTTP/1.1", body: str = "", host: str = "Host: h") -> bytes:
    return "\r\n".join([line, *([host] if host else []), *headers, "", body]).encode("latin-1")


HELLO = request("Content-Length: 5", body="hello")
CHUNKS = request("Transfer-Encoding: chunked", body="2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: 1\r\n\r\n")


@given(st.lists(st.sampled_from([HELLO, CHUNKS, request(line="GET / HTTP/1.1")]), max_size=4), st.data())
def test_requests_are_the_same_however_they_are_cut(requests: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(requests)
    cuts = data.draw(st.lists(st.integers(0, len(wire)), max_size=8))
    received, refusal = parse(wire, cuts)
    assert refusal is None
    assert received.ended == len(requests)
    assert [bytes(body) for _, body in received.requests] == [
        b"" if each.startswith(b"GET") else b"hello" for each in requests
    ]
    assert {head.headers.get("host") for head, _ in received.requests} <= {"h"}


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        (request("Content-Length: 5", "Transfer-Encoding: chunked", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", "Content-Length: 5", body="0\r\n\r\n"), 400),
        (request("Content-Length: 5", "Content-Length: 5", body="hello"), 400),
        (request("Content-Length: 5", "Content-Length: 6", body="hello"), 400),
        (request("Content-Length: 5, 5", body="hello"), 400),
        (request("Content-Length: +5", body="hello"), 400),
        (request("Content-Length: -5", body="hello"), 400),
        (request("Content-Length: 0x5", body="hello"), 400),
        (request("Content-Length: 5_0", body="hello"), 400),
        (request("Content-Length:", body="hello"), 400),
        (request("Content-Length: 99999999999999999999", body="hello"), 400),
        (request("Transfer-Encoding: gzip, chunked", body="0\r\n\r\n"), 501),
        (request("Transfer-Encoding: chunked, gzip", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked, chunked", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding: xchunked", body="0\r\n\r\n"), 501),
        (request("Transfer-Encoding: identity", body="0\r\n\r\n"), 501),
        (request("Transfer-Encoding: \x0bchunked", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", "Transfer-Encoding: identity", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", line="POST / HTTP/1.0", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", "Connection: upgrade", "Upgrade: h2c", body="0\r\n\r\n"), 400),
        (request("Transfer-Encoding : chunked", body="0\r\n\r\n"), 400),
        (request(" Transfer-Encoding: chunked", body="0\r\n\r\n"), 400),
        (request("A: b\r\n folded"), 400),
        (request("A: b\nTransfer-Encoding: chunked"), 400),
        (request("A: b\rTransfer-Encoding: chunked"), 400),
        (request("A: b\0"), 400),
        (request("A: b\x01"), 400),
        (request("A"), 400),
        (request(": b"), 400),
        (request("\u00e9: b"), 400),
        (request("Host: other"), 400),
        (request(host=""), 400),
        (request("Content-Type: a", "Content-Type: b"), 400),
        (request("Authorization: Bearer a", "Authorization: Bearer b"), 400),
        (HELLO.replace(b"\r\n", b"\n"), 400),
        (request(line="GET / HTTP/2.0"), 505),
        (request(line="GET / HTTP/1.2"), 400),
        (b"GET /\r\n\r\n", 505),
        (request(line="CONNECT a:1 HTTP/1.1"), 405),
        (request(line="get / HTTP/1.1"), 400),
        (request(line="GET /a b HTTP/1.1"), 400),
        (request(line="GET /\0 HTTP/1.1"), 400),
        (request("Transfer-Encoding: chunked", body="0x2\r\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="-2\r\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="2 \r\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="2\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="2;a\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="2\r\n{}}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="fffffffffffffffff2\r\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="\r\n{}\r\n0\r\n\r\n"), 400),
        (request("Transfer-Encoding: chunked", body="2\r\n{}\r\n0\r\nbad trailer\r\n\r\n"), 400),
        (request(*["a: b"] * 1001), 431),
        (request("Transfer-Encoding: chunked", body="0\r\n" + "a: b\r\n" * 1001), 431),
        (b"\x16\x03\x01\x02\x00", 400),
        (bytes(range(256)), 400),
    ],
    ids=lambda value: repr(value[-48:]) if isinstance(value, bytes) else None,
)
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_ambiguous_and_malformed_requests_are_refused(wire: bytes, code: int, size: int) -> None:
    received, refusal = parse(wire + HELLO, list(range(0, len(wire), size))[:3000])
    assert refusal is not None
    assert refusal.code == code
    # Nothing behind it is taken for a request.
    assert received.ended == 0


def test_nothing_is_parsed_behind_the_last_request() -> None:
    received, refusal = parse(request("Connection: close", line="GET / HTTP/1.1") + HELLO, [10, 60])
    assert refusal is None
    assert len(received.requests) == received.ended == 1


def test_the_body_of_the_last_request_is_read() -> None:
    received, refusal = parse(request("Connection: close", "Content-Length: 5", body="hello"), [60, 62, 64])
    assert refusal is None
    assert bytes(received.requests[0][1]) == b"hello"


def test_bytes_behind_a_request_for_another_protocol_are_handed_back() -> None:
    received = Received()
    wire = request("Connection: Upgrade", "Upgrade: x", line="GET / HTTP/1.1")
    parser = RequestParser(received)
    assert parser.feed(wire[:20]) is None
    assert parser.feed(wire[20:] + b"\x81\x00") == b"\x81\x00"
    assert received.requests[0][0].is_upgrade


def test_bytes_that_are_no_text_are_kept() -> None:
    received, refusal = parse(request("A: \u00ff\u00fe"))
    assert refusal is None
    assert received.requests[0][0].headers.get("a").encode("utf-8", "surrogateescape") == b"\xff\xfe"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/", ("/", "")),
        ("/a?b", ("/a", "b")),
        ("/a?b?c#d", ("/a", "b?c")),
        ("//a", ("//a", "")),
        ("/a://b", ("/a://b", "")),
        ("*", ("*", "")),
        ("http://h", ("/", "")),
        ("http://h/a?b", ("/a", "b")),
        ("http://h?b", ("/", "b")),
        ("HTTP://u:p@h:1/a", ("/a", "")),
    ],
)
def test_a_target_is_a_path_and_a_query(target: str, expected: tuple[str, str]) -> None:
    assert split_target(target) == expected
