"""Lines of a log, however it is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.log_lines import ByteLimit, LogLineDecoder, nanoseconds, stamp_of

STAMP = b"2016-10-06T00:17:09.669794202Z "
TEXTS = st.sampled_from([b"", b"a", "ß".encode(), "€".encode() * 9, b"\xff\x80\x80\x80\x80", b"\r", b"x" * 80])
LOGS = st.lists(st.lists(TEXTS, max_size=5).map(b"".join)).map(b"\n".join)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(places)]


def decoded(chunks: list[bytes], **options: int) -> list[bytes]:
    lines = LogLineDecoder(has_stamps=False, **options)
    return [*(line for chunk in chunks for line in lines.feed(chunk)), lines.rest]


@given(LOGS, st.lists(st.integers(0, 400)))
def test_any_chunking_gives_the_same_lines(log: bytes, cuts: list[int]) -> None:
    assert decoded(pieces(log, cuts)) == log.split(b"\n")


@given(LOGS, st.lists(st.integers(0, 400)), st.integers(4, 50))
def test_long_lines_come_in_the_same_pieces_whatever_the_chunks(log: bytes, cuts: list[int], limit: int) -> None:
    found = decoded(pieces(log, cuts), limit=limit)

    assert found == decoded([log], limit=limit)
    assert b"".join(found) == log.replace(b"\n", b"")
    assert all(len(line) <= limit for line in found)


def test_a_piece_of_a_long_line_ends_between_characters() -> None:
    text = "aß€😀" * 20

    found = decoded([text.encode(), b"\n"], limit=16)

    assert "".join(line.decode() for line in found) == text
    assert len(found) < len(text.encode()) / 12


@given(st.lists(st.integers(0, 400)))
def test_each_piece_of_a_long_line_has_its_timestamp(cuts: list[int]) -> None:
    log = STAMP + b"".join(b"%d " % number for number in range(100)) + b"\n" + STAMP + b"short\n"
    lines = LogLineDecoder(64, has_stamps=True)

    *parts, last = [line for chunk in pieces(log, cuts) for line in lines.feed(chunk)]

    assert last == STAMP + b"short"
    assert all(part.startswith(STAMP) and len(part) <= 64 for part in parts)
    assert b"".join(part.removeprefix(STAMP) for part in parts).split() == [b"%d" % n for n in range(100)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"1970-01-01T00:00:01.000000002Z text", 1_000_000_002),
        (b"1970-01-01T00:00:01Z text", 1_000_000_000),
        (b"1970-01-01T02:00:01.5+02:00 text", 1_500_000_000),
        (b"1969-12-31T23:59:59.9Z ", -100_000_000),
        (b"1970-01-01T00:00:01Z", None),  # not a prefix: there is no blank
        (b"1970-13-01T00:00:01Z text", None),
        (b"0000-01-01T00:00:01Z text", None),
        (b"unable to retrieve container logs", None),
        (b"", None),
    ],
)
def test_timestamps_are_read_to_the_nanosecond(line: bytes, expected: int | None) -> None:
    assert nanoseconds(line) == expected


def test_the_text_of_a_line_follows_its_timestamp() -> None:
    assert stamp_of(STAMP + b"text") == STAMP
    assert stamp_of(STAMP) == STAMP
    assert stamp_of(b"text") == b""


@given(st.lists(st.text("ab", max_size=5).map(str.encode)), st.integers(0, 40))
def test_a_limit_of_bytes_ends_a_log_where_a_node_would(texts: list[bytes], limit: int) -> None:
    plain = b"".join(text + b"\n" for text in texts)

    for has_stamps, prefix in ((True, b""), (False, STAMP)):
        counted = ByteLimit(limit, has_stamps=has_stamps)
        taken = [line for text in texts for line in counted.take([prefix + text])]

        written = b"".join(line.removeprefix(prefix) + b"\n" for line in taken)
        assert written.removesuffix(b"\n") == plain[:limit].removesuffix(b"\n")
        assert counted.is_reached == (len(plain) >= limit)


def test_a_log_without_a_limit_has_no_end() -> None:
    counted = ByteLimit(None, has_stamps=True)

    assert counted.take([b"a", b"b"]) == [b"a", b"b"]
    assert not counted.is_reached
