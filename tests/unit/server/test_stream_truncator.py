"""Streams truncated by an injected fault."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.stream import StreamTruncator

PIECES = st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=4), max_size=6)


def lines_of(pieces: list[list[int]]) -> list[list[bytes]]:
    return [[b"x" * size + b"\n" for size in piece] for piece in pieces]


def sent_by(spoiler: StreamTruncator, pieces: list[list[bytes]]) -> bytes:
    """All that passes until it is time."""
    sent = b""
    for piece in pieces:
        if spoiler.is_due:
            break
        sent += spoiler.truncate(b"".join(piece))
    return sent


@given(PIECES, st.integers(0, 12))
def test_whole_lines_pass_up_to_the_limit_however_they_are_chunked(pieces: list[list[int]], after: int) -> None:
    spoiler, written = StreamTruncator(after, cuts=False), lines_of(pieces)
    lines = [line for piece in written for line in piece]

    assert sent_by(spoiler, written) == b"".join(lines[:after])
    assert spoiler.is_due == (len(lines) >= after)


@given(PIECES, st.integers(0, 12))
def test_a_truncation_sends_half_of_the_next_line_too(pieces: list[list[int]], after: int) -> None:
    spoiler, written = StreamTruncator(after, cuts=True), lines_of(pieces)
    lines = [line for piece in written for line in piece]

    sent = sent_by(spoiler, written)

    half = lines[after][: len(lines[after]) // 2] if len(lines) > after else b""
    assert sent == b"".join(lines[:after]) + half
    assert spoiler.is_due == (len(lines) > after)
