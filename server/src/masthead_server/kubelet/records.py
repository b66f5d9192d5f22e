"""Log records in the format of container runtimes (CRI), and how the log endpoint shows them.

A record is a line: a timestamp of 30 characters, ``stdout`` or ``stderr``, the tag ``F``, or ``P`` where the rest of
the line follows in another record, and the content. So its content begins at a fixed position.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

__all__ = [
    "MAX_RECORD",
    "STDERR",
    "STDOUT",
    "LogFormatter",
    "count_lines",
    "encode_records",
    "log_stamp",
    "skip_lines",
]

STDOUT: Final = "stdout"
STDERR: Final = "stderr"
_MAX_CONTENT: Final = 16 * 1024
"""Bytes of a line that make one record; the rest goes to further ones."""
_TAG: Final = len("2006-01-02T15:04:05.000000000Z stdout ")
_CONTENT: Final = _TAG + 2
_STAMP: Final = len("2006-01-02T15:04:05.000000000Z")
MAX_RECORD: Final = _MAX_CONTENT + _CONTENT + 1
"""Bytes of a record at most."""
_FULL: Final = ord("F")


def log_stamp(moment: datetime) -> str:
    """Format a time for a log: with nanoseconds, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z"


def encode_records(data: bytes, stream: str, stamp: str) -> bytes:
    """Return the records of what a container has printed at one time; the last line may be incomplete."""
    *lines, rest = data.split(b"\n")
    full, partial = (f"{stamp} {stream} {tag} ".encode() for tag in "FP")
    # Nearly always: one pass without looking at single lines.
    if len(data) <= _MAX_CONTENT or all(len(line) <= _MAX_CONTENT for line in lines):
        encoded = b"".join([b"%b%b\n" % (full, line) for line in lines])
    else:
        encoded = b"".join(_long_records(lines, full, partial))
    for start in range(0, len(rest), _MAX_CONTENT):
        encoded += b"%b%b\n" % (partial, rest[start : start + _MAX_CONTENT])
    return encoded


def _long_records(lines: list[bytes], full: bytes, partial: bytes) -> Iterator[bytes]:
    for line in lines:
        start = 0
        # A line of exactly the limit is one full record.
        while len(line) - start > _MAX_CONTENT:
            yield b"%b%b\n" % (partial, line[start : start + _MAX_CONTENT])
            start += _MAX_CONTENT
        yield b"%b%b\n" % (full, line[start:])


def count_lines(records: bytes) -> int:
    """Count the complete lines of whole records."""
    return sum(1 for record in records.split(b"\n") if record and record[_TAG] == _FULL)


def skip_lines(records: bytes, count: int) -> tuple[int, int]:
    """Skip complete lines of whole records; return the position after them, and the number of lines left to skip."""
    position = 0
    while count and position < len(records):
        end = records.index(b"\n", position) + 1
        # Parts of a line count once, with the last of them.
        count -= records[position + _TAG] == _FULL
        position = end
    return position, count


class LogFormatter:
    """Turns records into the response of the log endpoint.

    Args:
        timestamps: Whether each line begins with its time.
        stream: The stream to show; empty for both.
        since: The time before which records are left out, as `log_stamp` writes it; empty for none.
        limit: How many bytes to return at most; None for all.
    """

    def __init__(
        self, *, timestamps: bool = False, stream: str = "", since: str = "", limit: int | None = None
    ) -> None:
        self._timestamps = timestamps
        self._stream = stream.encode()
        self._since = since.encode()
        self._left = limit
        self._is_at_start = True

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return self._left is not None and self._left <= 0

    def format(self, records: bytes) -> bytes:
        """Format whole records."""
        shown = b"".join(self._contents(records.split(b"\n")))
        if self._left is not None:
            # In bytes, also within a line, as the kubelet cuts.
            shown = shown[: max(0, self._left)]
            self._left -= len(shown)
        return shown

    def _contents(self, records: list[bytes]) -> Iterator[bytes]:
        for record in records:
            # Stamps of this format compare as text. Once one is late enough, all that follow are.
            if not record or (self._since and record[:_STAMP] < self._since):
                continue
            self._since = b""
            if self._stream and record[_STAMP + 1 : _TAG - 1] != self._stream:
                continue
            if self._timestamps and self._is_at_start:
                yield record[: _STAMP + 1]
            self._is_at_start = record[_TAG] == _FULL
            yield record[_CONTENT:]
            if self._is_at_start:
                yield b"\n"
