"""Log records, and how the log endpoint shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from masthead_server.kubelet.records import (
    MAX_RECORD,
    STDERR,
    STDOUT,
    LogFormatter,
    count_lines,
    encode_records,
    log_stamp,
    skip_lines,
)

STAMP = "2026-01-02T03:04:05.000006000Z"
CONTENTS = st.lists(st.sampled_from([b"", b"a", b"x\r", b"\n", b"a\nb", b"y" * 40_000, b"\x00\xff\n"]), max_size=8)


def test_a_record_has_the_format_of_container_runtimes() -> None:
    assert encode_records(b"one\ntwo", STDOUT, STAMP) == (f"{STAMP} stdout F one\n{STAMP} stdout P two\n".encode())
    assert encode_records(b"", STDERR, STAMP) == b""


def test_times_are_in_utc_with_nanoseconds() -> None:
    east = datetime(2026, 1, 2, 5, 4, 5, 6, tzinfo=timezone(timedelta(hours=2)))

    assert log_stamp(east) == STAMP
    assert len(log_stamp(datetime(2026, 1, 1, tzinfo=UTC))) == len(STAMP)


@given(CONTENTS)
def test_what_was_printed_is_what_is_shown(pieces: list[bytes]) -> None:
    records = b"".join(encode_records(piece, STDOUT, STAMP) for piece in pieces)

    assert LogFormatter().format(records) == b"".join(pieces)
    assert count_lines(records) == b"".join(pieces).count(b"\n")
    assert all(len(each) < MAX_RECORD for each in records.split(b"\n"))


@given(CONTENTS, st.integers(0, 5))
def test_skipping_lines_leaves_the_rest(pieces: list[bytes], count: int) -> None:
    whole = b"".join(pieces)
    records = b"".join(encode_records(piece, STDOUT, STAMP) for piece in pieces)

    position, left = skip_lines(records, count)

    expected = whole.split(b"\n", count)[-1] if whole.count(b"\n") >= count else b""
    assert LogFormatter().format(records[position:]) == expected
    assert left == max(0, count - whole.count(b"\n"))


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([b"a\n", b"b", b"cc\n"])), max_size=10))
def test_each_stream_can_be_shown_alone(printed: list[tuple[bool, bytes]]) -> None:
    records = b"".join(encode_records(data, STDERR if is_err else STDOUT, STAMP) for is_err, data in printed)

    for stream, wanted in ((STDOUT, False), (STDERR, True)):
        expected = b"".join(data for is_err, data in printed if is_err is wanted)
        assert LogFormatter(stream=stream).format(records) == expected


@given(CONTENTS, st.integers(1, 50_000), st.integers(1, 3))
def test_a_limit_cuts_after_so_many_bytes_however_records_are_read(pieces: list[bytes], limit: int, step: int) -> None:
    parts = [encode_records(piece, STDOUT, STAMP) for piece in pieces]
    formatter = LogFormatter(limit=limit)

    shown = b"".join(formatter.format(b"".join(parts[at : at + step])) for at in range(0, len(parts), step))

    assert shown == b"".join(pieces)[:limit]
    assert formatter.is_full == (len(shown) == limit)


def test_a_line_in_parts_has_one_timestamp_and_earlier_ones_are_left_out() -> None:
    later = "2026-01-02T03:04:06.000000000Z"
    records = encode_records(b"old\n", STDOUT, STAMP) + encode_records(b"a", STDOUT, later)
    records += encode_records(b"b\n", STDOUT, later)

    assert LogFormatter(timestamps=True, since=later).format(records) == f"{later} ab\n".encode()
