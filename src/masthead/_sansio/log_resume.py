"""Following a log over several connections, without losing or repeating a line.

A log has no positions to resume from. It has a timestamp per line, and ``sinceTime``, which the API server truncates to
whole seconds and the node treats as inclusive; and several lines may have the same timestamp. So a resumed connection
repeats lines, and `LogResume` drops the repeated ones::

    seen      ... 07.9 a   08.1 b   08.1 c   08.3 d  |lost
    sinceTime = 07, a second before the last line's
    resumed                 07.9 a   08.1 b   08.1 c   08.3 d   08.3 e   08.4 f
                            └────────── dropped ─────────────┘  └── delivered ──┘

A node writes a container's two outputs in two threads, so that timestamps may be slightly out of order: therefore the
extra second, and the comparison of whole lines, not of their times alone.

| a line of a resumed connection | |
|---|---|
| equal to a remembered line | dropped |
| before these, and not later than the oldest remembered line | dropped: seen, or older than ``tailLines`` |
| the first one, and the end of a long remembered line | dropped: the first half was written before ``sinceTime`` |
| any other | delivered |
"""

from __future__ import annotations

from collections import Counter, deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead._sansio.log_lines import MAX_LOG_LINE, LogLineDecoder, nanoseconds, stamp_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LogResume"]

_SECOND: Final = 1_000_000_000
_DISORDER: Final = 1
"""Seconds by which a timestamp may be earlier than the one before it."""
_WINDOW: Final = 64 * 1024
"""Bytes of the last lines that are remembered."""
_SPLIT: Final = 4 * 1024
"""Minimum length of a line that a container runtime may have split; they do so from 16 KiB on."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LogResume:
    """Turns the bytes of successive connections into lines, each once and in order.

    ::

        feed, feed ... ──lost──> request again with `since` ──> feed, feed ... ──> end

    Lines include their timestamps. An unfinished line is not delivered while a connection may complete it.

    Memory is constant: the maximum line, the last chunk, and `window` bytes of lines.

    Args:
        limit: The maximum length of a line; longer ones are delivered in pieces.
        window: The bytes of remembered lines. Timestamps that are out of order by more than that may lose a line at a
            lost connection.
    """

    __slots__ = ("_decoder", "_hidden", "_limit", "_recent", "_replay", "_size", "_window")

    def __init__(self, limit: int = MAX_LOG_LINE, window: int = _WINDOW) -> None:
        self._limit = limit
        self._window = window
        self._decoder = LogLineDecoder(limit, has_stamps=True)
        self._recent: deque[tuple[list[bytes], int]] = deque()
        self._size = 0
        self._hidden = 0  # lines before the window with the timestamp of its first line
        self._replay: _Replay | None = None

    @property
    def last(self) -> int | None:
        """The timestamp of the last line with one, in nanoseconds since 1970; None before the first."""
        for lines, _ in reversed(self._recent):
            for line in reversed(lines):
                if (when := nanoseconds(line)) is not None:
                    return when
        return None

    @property
    def since(self) -> str | None:
        """The ``sinceTime`` of the next request; None to repeat the first request."""
        second = _resumed_from(self.last)
        if second is None:
            return None
        return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def feed(self, chunk: bytes) -> list[bytes]:
        """Process a chunk of the connection; return the new lines that it completes."""
        return self._unseen(self._decoder.feed(chunk))

    def end(self) -> list[bytes]:
        """End the log; return a last line without newline."""
        rest = self._decoder.rest
        self._decoder = LogLineDecoder(self._limit, has_stamps=True)
        return self._unseen([rest]) if rest else []

    def lost(self, *, is_ended: bool = False) -> None:
        """Note the end of the connection; later chunks belong to the next one.

        Args:
            is_ended: Whether the server has ended it, so that the next lines may be of the container's next instance.
        """
        self._decoder = LogLineDecoder(self._limit, has_stamps=True)
        seen = [line for lines, _ in self._recent for line in lines]
        since = _resumed_from(self.last)
        self._replay = _Replay(seen, self._hidden, since, may_be_new=is_ended) if seen else None

    def _unseen(self, lines: list[bytes]) -> list[bytes]:
        if self._replay is not None:
            lines = self._replay.unseen(lines)
            if self._replay.is_over:
                self._replay = None
        if lines:
            self._remember(lines)
        return lines

    def _remember(self, lines: list[bytes]) -> None:
        size = sum(map(len, lines))
        self._recent.append((lines, size))
        self._size += size
        while self._size - self._recent[0][1] > self._window:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        forgotten, size = self._recent.popleft()
        self._size -= size
        stamp = stamp_of(self._recent[0][0][0])
        # With a coarse clock, more lines may have the same timestamp than are remembered: the others are counted.
        before = self._hidden if stamp == stamp_of(forgotten[0]) else 0
        is_same = stamp and forgotten[-1].startswith(stamp)
        self._hidden = before + sum(line.startswith(stamp) for line in forgotten) if is_same else 0


def _resumed_from(last: int | None) -> int | None:
    """The second since 1970 from which the log is requested again."""
    return None if last is None else last // _SECOND - _DISORDER


class _Replay:
    """Recognises the lines that a resumed connection repeats."""

    __slots__ = (
        "_before",
        "_hidden",
        "_is_first",
        "_is_met",
        "_long",
        "_newest",
        "_oldest",
        "_seen",
        "is_over",
    )

    def __init__(self, seen: Sequence[bytes], hidden: int, since: int | None, *, may_be_new: bool) -> None:
        times = [nanoseconds(line) for line in seen]
        known = [when for when in times if when is not None]
        start = -1 if since is None else since * _SECOND
        # Earlier lines are not sent again.
        repeated = (line for line, when in zip(seen, times, strict=True) if when is None or when >= start)
        self._seen = Counter(repeated)
        self._oldest = known[0] if known else -1
        # Forgotten lines are not later than the oldest remembered one; lines of a new instance are not earlier.
        self._before = self._oldest - 1 if may_be_new else self._oldest
        self._newest = max(known, default=-1)
        self._hidden = hidden
        self._long = [line for line in seen if len(line) > _SPLIT]
        self._is_first = True
        self._is_met = False
        self.is_over = False

    def unseen(self, lines: Sequence[bytes]) -> list[bytes]:
        unseen = [line for line in lines if not self._is_seen(line)]
        when = nanoseconds(lines[-1]) if lines else None
        # A line may never be repeated, because its file was rotated: then the time decides.
        is_later = when is not None and when > self._newest + _DISORDER * _SECOND
        self.is_over = is_later or not self._seen
        return unseen

    def _is_seen(self, line: bytes) -> bool:
        is_first, self._is_first = self._is_first, False
        when = nanoseconds(line)
        # Forgotten lines with the oldest remembered timestamp come first.
        if self._hidden and when == self._oldest:
            self._hidden -= 1
            return True
        if left := self._seen.get(line):
            self._is_met = True
            # Counted: a program may write the same line several times within a nanosecond.
            if left == 1:
                del self._seen[line]
            else:
                self._seen[line] = left - 1
            return True
        if not self._is_met and when is not None and when <= self._before:
            return True
        return is_first and self._is_end_of_seen(line)

    def _is_end_of_seen(self, line: bytes) -> bool:
        text = line[len(stamp_of(line)) :]
        return bool(text) and any(long.endswith(text) for long in self._long)
