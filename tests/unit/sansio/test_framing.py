"""Lines of a stream, however it is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.framing import LineDecoder
from masthead.errors import ProtocolError

STREAMS = st.lists(st.sampled_from([b"\n", b"\r\n", b"{}", b'{"a":1}', b" ", b"x" * 40, b"\r"])).map(b"".join)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.slow
@given(STREAMS, st.lists(st.integers(0, 200)))
def test_any_chunking_gives_the_same_lines(stream: bytes, cuts: list[int]) -> None:
    lines = LineDecoder()

    found = [line for piece in pieces(stream, cuts) for line in lines.feed(piece)]

    *complete, unfinished = stream.split(b"\n")
    assert found == [line.strip() for line in complete if line.strip()]
    assert lines.rest == unfinished


@given(STREAMS, st.lists(st.integers(0, 200)))
def test_lines_are_returned_unchanged(stream: bytes, cuts: list[int]) -> None:
    lines = LineDecoder(verbatim=True)

    found = [line for piece in pieces(stream, cuts) for line in lines.feed(piece)]

    assert [*found, lines.rest] == stream.split(b"\n")


@given(STREAMS, st.lists(st.integers(0, 200)), st.integers(1, 50))
def test_a_line_above_the_limit_is_rejected_however_it_is_chunked(stream: bytes, cuts: list[int], limit: int) -> None:
    lines = LineDecoder(limit)
    is_refused = False
    try:
        for piece in pieces(stream, cuts):
            lines.feed(piece)
    except ProtocolError:
        is_refused = True

    assert is_refused == any(len(line) > limit for line in stream.split(b"\n"))


def test_the_error_names_likely_causes() -> None:
    with pytest.raises(ProtocolError, match="more than 3 bytes; the response is not an API server's"):
        LineDecoder(3).feed(b"abcd")


def test_the_limit_is_for_each_line_and_not_for_the_stream() -> None:
    lines = LineDecoder(3)

    for _ in range(5):
        assert lines.feed(b"ab") == []
        assert lines.feed(b"c\n") == [b"abc"]


def test_one_chunk_can_end_a_line_hold_others_and_begin_the_next() -> None:
    lines = LineDecoder()

    assert lines.feed(b'{"a"') == []
    assert lines.feed(b':1}\r\n\r\n{"b":2}\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert lines.rest == b'{"c"'
    assert lines.feed(b":3}\n") == [b'{"c":3}']
    assert lines.rest == b""


def test_an_unfinished_line_is_joined_once() -> None:
    """Pieces are buffered separately, so that a line in many pieces takes linear time."""
    lines = LineDecoder()
    piece = b"x" * 1000
    for _ in range(1000):
        lines.feed(piece)

    assert lines._pieces == [piece] * 1000
    assert lines.feed(b"\n") == [piece * 1000]


def test_endless_blank_lines_are_dropped_immediately() -> None:
    lines = LineDecoder()

    assert lines.feed(b'{"a":1}' + b"\n" * 1_000_000 + b'{"b":2}\n\n\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert lines.feed(b":3}\n") == [b'{"c":3}']


def test_a_log_keeps_blank_lines() -> None:
    assert LineDecoder(verbatim=True).feed(b"a" + b"\n" * 100 + b"b\n") == [b"a", *[b""] * 99, b"b"]
