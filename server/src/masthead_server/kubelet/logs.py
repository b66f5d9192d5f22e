"""The log of a container: bounded, spooled to disk, and followed without polling.

Records are appended to segments. Above the limit, the oldest segment is dropped, as in log rotation. A reader is a
cursor, a segment and a position in it, so that a slow reader costs nothing.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.records import (
    MAX_RECORD,
    STDOUT,
    count_lines,
    encode_records,
    log_stamp,
    skip_lines,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

__all__ = ["LogCursor", "LogStore"]

_SEGMENTS: Final = 4
"""The number of segments that share the limit."""
_IN_MEMORY: Final = 1024 * 1024
"""Bytes of a segment that stay in memory."""
_PIECE: Final = 64 * 1024
"""Bytes per read."""


@dataclass(frozen=True, slots=True)
class LogCursor:
    """A position in a log: the number of a segment, and the offset in it."""

    segment: int
    offset: int


class _Segment:
    """A part of a log."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.size = 0
        self.lines = 0
        self._file: tempfile.SpooledTemporaryFile[bytes] | None = None  # made when something is printed

    def append(self, records: bytes, lines: int) -> None:
        if self._file is None:
            self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - it lives as long as the log
        self._file.seek(self.size)
        self._file.write(records)
        self.size += len(records)
        self.lines += lines

    def read(self, offset: int) -> bytes:
        """Some whole records from an offset on; empty at the end."""
        if self._file is None:
            return b""
        self._file.seek(offset)
        # At least one whole record fits, so that the cut below finds an end.
        data = self._file.read(_PIECE + MAX_RECORD)
        return data if offset + len(data) >= self.size else data[: data.rindex(b"\n") + 1]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class LogStore:
    """The log of one run of a container.

    Everything runs in the server's event loop.

    Args:
        limit: The approximate maximum size, in bytes.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._segments: deque[_Segment] = deque([_Segment(0)])
        self._size = 0
        self._is_open_line = False
        self._waiters: list[asyncio.Future[None]] = []
        self.is_ended: bool = False
        """Whether the container has ended, after which nothing is added."""

    def append(self, data: bytes, now: datetime, stream: str = STDOUT) -> None:
        """Append output; no-op once the container has ended."""
        if not data or self.is_ended:
            return
        records = encode_records(data, stream, log_stamp(now))
        room = max(_PIECE, self._limit // _SEGMENTS)
        start = 0
        while start < len(records):
            end = min(start + room, len(records))
            # A record never spans two segments.
            end = end if end == len(records) else records.rindex(b"\n", start, end) + 1
            self._add(records[start:end], room)
            start = end
        self._is_open_line = not data.endswith(b"\n")
        self._wake()

    def _add(self, records: bytes, room: int) -> None:
        last = self._segments[-1]
        if last.size and last.size + len(records) > room:
            last = _Segment(last.number + 1)
            self._segments.append(last)
        last.append(records, count_lines(records))
        self._size += len(records)
        # The last segment stays, because the log is appended to it.
        while self._size > self._limit and len(self._segments) > 1:
            oldest = self._segments.popleft()
            self._size -= oldest.size
            oldest.close()

    def end(self) -> None:
        """Mark the end of the container, after which following readers read the rest and end."""
        self.is_ended = True
        self._wake()

    def close(self) -> None:
        """Drop everything."""
        self.end()
        for segment in self._segments:
            segment.close()
        # A new number, so that old cursors match no segment.
        self._segments = deque([_Segment(self._segments[-1].number + 1)])
        self._size = 0

    def last_text(self, lines: int = 80, size: int = 2048) -> str:
        """Return the tail of the output without times, from the newest segment only."""
        segment, shown = self._segments[-1], list[str]()
        offset = max(0, segment.size - 4 * size)
        records = segment.read(offset)
        while records:
            shown += map(_text_of, records.splitlines())
            offset += len(records)
            records = segment.read(offset)
        return "".join(shown[-lines:])[-size:]

    @property
    def start(self) -> LogCursor:
        """The position of the oldest record."""
        return LogCursor(self._segments[0].number, 0)

    @property
    def tail(self) -> LogCursor:
        """The position behind the newest record."""
        return LogCursor(self._segments[-1].number, self._segments[-1].size)

    async def find_tail(self, lines: int) -> LogCursor:
        """Return the position of the last lines; an incomplete line counts."""
        if not lines:
            return self.tail
        if self._is_open_line:
            lines -= 1
        for segment in reversed(self._segments):
            # With as many complete lines as the segment has, the first of them may begin in the segment before.
            if lines < segment.lines:
                return await self._behind(segment, segment.lines - lines)
            lines -= segment.lines
        return self.start

    async def _behind(self, segment: _Segment, lines: int) -> LogCursor:
        """Return the position after so many complete lines of a segment."""
        offset = 0
        while lines and (records := segment.read(offset)):
            position, lines = skip_lines(records, lines)
            offset += position
            await asyncio.sleep(0)
        return LogCursor(segment.number, offset)

    def read(self, cursor: LogCursor) -> tuple[bytes, LogCursor]:
        """Return some whole records from a position on, and the position behind them; empty at the end."""
        for segment in self._segments:
            # A reader whose segment was dropped continues with the oldest one.
            if segment.number < cursor.segment:
                continue
            offset = cursor.offset if segment.number == cursor.segment else 0
            if offset < segment.size:
                records = segment.read(offset)
                return records, LogCursor(segment.number, offset + len(records))
        return b"", self.tail

    async def records(self, cursor: LogCursor, *, follow: bool) -> AsyncIterator[bytes]:
        """Iterate over pieces of whole records from a position on.

        Args:
            cursor: The position.
            follow: Whether to wait for more until the container has ended.
        """
        while True:
            records, cursor = self.read(cursor)
            if records:
                yield records
                # Let other requests run between the pieces of a long log.
                await asyncio.sleep(0)
            elif not follow or self.is_ended:
                return
            else:
                await self._wait()

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

    def _wake(self) -> None:
        # Swapped first: a reader that wakes may wait again immediately.
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def _text_of(record: bytes) -> str:
    """Return the text of a record; an incomplete line has no newline."""
    *head, content = record.split(b" ", 3)
    # The first of several records may be truncated, without its tag.
    return content.decode("utf-8", "replace") + ("" if head[2:] == [b"P"] else "\n")
