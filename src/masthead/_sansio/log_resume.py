"""Following a log over several connections, without losing or repeating a line.

A log has no positions that a client could resume from. What it has is a timestamp per line, and ``sinceTime``, which
the API server cuts to whole seconds and the node takes as inclusive; and several lines may have one timestamp. So a
resumed connection repeats lines, and `LogResume` drops those that were seen::

    seen      ... 07.9 a   08.1 b   08.1 c   08.3 d  |lost
    sinceTime = 07, a second before the last line's
    resumed                 07.9 a   08.1 b   08.1 c   08.3 d   08.3 e   08.4 f
                            └────────── dropped ─────────────┘  └── delivered ──┘

A node writes what a container's two outputs say in two threads, so that timestamps may be out of order by a little:
therefore the extra second, and therefore a line is recognised by its whole content, not by its time alone.

| a line of a resumed connection | |
|---|---|
| was seen, among the last ones that are remembered | dropped |
| before the first of those, and not later than the oldest that is remembered | dropped: seen, or older than ``tailLines`` |
| the first one, and the end of a long line that was seen | dropped: the first half was written before ``sinceTime`` |
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
"""By how many seconds a timestamp may be earlier than the one before it."""
_WINDOW: Final = 64 * 1024
"""How many bytes of the last lines are remembered."""
_SPLIT: Final = 4 * 1024
"""Shorter lines are not split by container runtimes, which do so from 16 KiB on."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LogResume:
    """Turns the bytes of one connection after the other into lines, each once and in order.

    ::

        feed, feed ... ──lost──> request again with `since` ──> feed, feed ... ──> end

    Lines keep their timestamps. An unfinished line is never delivered while a connection may bring the rest of it.

    Memory is constant: the longest line, and `window` bytes of lines beside the last chunk.

    Args:
        limit: The longest line; longer ones are delivered in pieces.
        window: How many bytes of lines are remembered. Timestamps that are out of order by more than that may cost
            a line at a lost connection.
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
        """The timestamp of the last line that has one, in nanoseconds since 1970; None if there is none yet."""
        for lines, _ in reversed(self._recent):
            for line in reversed(lines):
                if (when := nanoseconds(line)) is not None:
                    return when
        return None

    @property
    def since(self) -> str | None:
        """The ``sinceTime`` of the next request; None to request what was requested first."""
        second = _resumed_from(self.last)
        if second is None:
            return None
        return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk of the connection, and return the new lines that it completes."""
        return self._unseen(self._decoder.feed(chunk))

    def end(self) -> list[bytes]:
        """The log is at its end: return a last line that lacks its newline."""
        rest = self._decoder.rest
        self._decoder = LogLineDecoder(self._limit, has_stamps=True)
        return self._unseen([rest]) if rest else []

    def lost(self, *, is_ended: bool = False) -> None:
        """The connection is lost; what follows is of the next one.

        Args:
            is_ended: Whether the server has ended it, so that what follows may be of the container's next instance.
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
        # Where a clock is coarse, more lines may have one timestamp than are remembered: those are counted.
        before = self._hidden if stamp == stamp_of(forgotten[0]) else 0
        is_alike = stamp and forgotten[-1].startswith(stamp)
        self._hidden = before + sum(line.startswith(stamp) for line in forgotten) if is_alike else 0


def _resumed_from(last: int | None) -> int | None:
    """The second since 1970 from which a log is requested again."""
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
        # What was written before it is not sent again.
        repeated = (line for line, when in zip(seen, times, strict=True) if when is None or when >= start)
        self._seen = Counter(repeated)
        self._oldest = known[0] if known else -1
        # Lines before those that are remembered have at most the time of the oldest; a new instance's at least that.
        self._before = self._oldest - 1 if may_be_new else self._oldest
        self._newest = max(known, default=-1)
        self._hidden = hidden
        self._long = [line for line in seen if len(line) > _SPLIT]
        self._is_first = True
        self._is_met = False
        self.is_over = False

    def unseen(self, lines: Sequence[bytes]) -> list[bytes]:
        found = [line for line in lines if not self._is_seen(line)]
        when = nanoseconds(lines[-1]) if lines else None
        # A line may never come again, because its file was rotated away: then the time decides.
        is_later = when is not None and when > self._newest + _DISORDER * _SECOND
        self.is_over = is_later or not self._seen
        return found

    def _is_seen(self, line: bytes) -> bool:
        is_first, self._is_first = self._is_first, False
        when = nanoseconds(line)
        if self._hidden and when == self._oldest:
            self._hidden -= 1
            return True
        if left := self._seen.get(line):
            self._is_met = True
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
