"""The lines of a container's log: framing, timestamps, and a limit of bytes.

With ``timestamps=true``, each line of a log starts with the time at which it was written, in RFC 3339 with
nanoseconds and the time zone of its node, and a blank: ``2016-10-06T00:17:09.669794202Z text``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_LOG_LINE", "ByteLimit", "LogLineDecoder", "nanoseconds", "stamp_of"]

MAX_LOG_LINE: Final = 1024 * 1024
"""The maximum length of a buffered line. A container may write without ever ending a line."""

_SECOND: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STAMP: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ")


def stamp_of(line: bytes) -> bytes:
    """The timestamp at the start of a line, with the blank after it; empty without one.

    A node's own messages about an unreadable log have none.
    """
    match = _STAMP.match(line)
    return b"" if match is None else match[0]


def nanoseconds(line: bytes) -> int | None:
    """The timestamp at the start of a line, in nanoseconds since 1970, or None."""
    match = _STAMP.match(line)
    if match is None:
        return None
    second, fraction, zone = match.groups(b"")
    try:
        when = datetime.fromisoformat((second + zone).decode())
        # Nodes write local time, which is ambiguous at the end of daylight saving time; UTC is not.
        whole = (when - _EPOCH) // (datetime.resolution * 1_000_000)
    except (ValueError, OverflowError):
        return None
    return whole * _SECOND + int(fraction.ljust(9, b"0"))


class LogLineDecoder:
    r"""Splits the chunks of a log into lines without newlines.

    A line longer than the limit is delivered in pieces of that length, each with the line's timestamp. A piece ends
    between two characters.

    Each byte is read a constant number of times: an unfinished line is buffered in pieces, which are joined once.

    Args:
        limit: The maximum length of a line in bytes; more than the length of a timestamp.
        has_stamps: Whether lines start with a timestamp, which is repeated before each piece of a long line.
    """

    __slots__ = ("_has_stamps", "_length", "_limit", "_pieces")

    def __init__(self, limit: int = MAX_LOG_LINE, *, has_stamps: bool) -> None:
        self._limit = limit
        self._has_stamps = has_stamps
        self._pieces: list[bytes] = []
        self._length = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add a chunk, and return the lines that it completes."""
        head, newline, rest = chunk.rpartition(b"\n")
        lines: list[bytes] = []
        if newline:
            lines = self._join(head).split(b"\n")
            # A single comparison for all lines, in the usual case.
            if self._length > self._limit:
                lines = [piece for line in lines for piece in self._cut(line)]
            self._pieces, self._length = [], 0
        if rest:
            self._pieces.append(rest)
            self._length += len(rest)
            if self._length > self._limit:
                *whole, rest = self._cut(b"".join(self._pieces))
                lines += whole
                self._pieces, self._length = [rest], len(rest)
        return lines

    @property
    def rest(self) -> bytes:
        """The unfinished line; at the end of a log, a last line without newline."""
        return b"".join(self._pieces)

    def _join(self, head: bytes) -> bytes:
        self._length += len(head)
        if not self._pieces:
            return head
        self._pieces.append(head)
        return b"".join(self._pieces)

    def _cut(self, line: bytes) -> Iterator[bytes]:
        stamp = stamp_of(line) if self._has_stamps else b""
        start, room = 0, self._limit
        while len(line) - start > room:
            end = _boundary(line, start + room)
            yield stamp + line[start:end] if start else line[:end]
            start, room = end, self._limit - len(stamp)
        yield stamp + line[start:] if start else line


_MAX_CHARACTER_BYTES: Final = 4


def _boundary(text: bytes, end: int) -> int:
    """The last end of a UTF-8 character at or before a position; the position itself if the bytes are not UTF-8."""
    # Continuation bytes of UTF-8 begin with the bits 10.
    for at in range(end, end - _MAX_CHARACTER_BYTES, -1):
        if text[at] & 0xC0 != 0x80:
            return at
    return end


class ByteLimit:
    """Ends a log after a number of bytes, newlines included, as a node does: in the middle of a line.

    Args:
        limit: The number of bytes; None for no limit.
        has_stamps: Whether timestamps count; if not, they do not consume the limit.
    """

    __slots__ = ("_has_stamps", "_left")

    def __init__(self, limit: int | None, *, has_stamps: bool) -> None:
        self._left = limit
        self._has_stamps = has_stamps

    @property
    def is_reached(self) -> bool:
        """Whether the log is at its end."""
        return self._left is not None and self._left <= 0

    def take(self, lines: list[bytes]) -> list[bytes]:
        """The part of the next lines that is within the limit."""
        if self._left is None:
            return lines
        within: list[bytes] = []
        for line in lines:
            if self._left <= 0:
                break
            # The timestamps were requested by us, not by the caller, whose limit must not pay for them.
            stamp = b"" if self._has_stamps else stamp_of(line)
            within.append(line[: len(stamp) + self._left])
            self._left -= len(line) - len(stamp) + 1
        return within
