"""Watch: a reader's place in the history of a table.

A watch keeps no queue. It remembers the last revision that it told of, and reads on from there whenever something was
written and its reader took what was sent. So a slow reader costs nothing and slows nobody; one that falls too far
behind is cut off, and can come back with the version that it saw last.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from masthead.server.events import INITIAL_EVENTS_END, error_line, event_of, line
from masthead.server.failures import Failure
from masthead.server.lists import ahead_of
from masthead.server.options import read_version

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from masthead.server.clock import Timer
    from masthead.server.cluster import Cluster
    from masthead.server.events import Writer
    from masthead.server.options import ListOptions
    from masthead.server.plain import Plain
    from masthead.server.selection import Selection
    from masthead.server.storage import Record

__all__ = ["Watch", "WatchLimits"]

_FRAME: Final = 256
"""How many objects go into one piece of the stream, so that a long beginning lets others have their turn."""


class WatchLimits:
    """How watches behave.

    Attributes:
        bookmark_every: Seconds between bookmarks.
        timeout: Seconds until a watch ends that did not say when.
        backlog: How many changes a reader may be behind before it is cut off.
        has_watch_list: Whether a watch may begin with the state.
    """

    def __init__(
        self,
        *,
        bookmark_every: float = 60.0,
        timeout: float = 1800.0,
        backlog: int = 10_000,
        has_watch_list: bool = True,
    ) -> None:
        self.bookmark_every = bookmark_every
        self.timeout = timeout
        self.backlog = backlog
        self.has_watch_list = has_watch_list


class Watch:
    """One watch, from its first event to its end.

    Args:
        cluster: What is watched.
        selection: Which objects.
        options: From when, and how.
        writer: In which form.
        limits: How long and how far behind.
        on_idle: Called when there is nothing left to tell.
        headers: What its answer says besides.

    Raises:
        Failure: The version cannot be read or has not come yet.
    """

    def __init__(
        self,
        cluster: Cluster,
        selection: Selection,
        options: ListOptions,
        writer: Writer,
        limits: WatchLimits,
        on_idle: Callable[[], object],
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.headers = headers
        self._storage = cluster.storage
        self._table = cluster.storage.table(selection.served.table)
        self._clock = cluster.clock
        self._selection = selection
        self._options = options
        self._writer = writer
        self._limits = limits
        self._on_idle = on_idle
        self._wake = asyncio.Event()
        self._timers: list[Timer] = []
        self._bookmarks_due = 0
        self._is_over = False
        self.is_idle = False
        """Whether everything that happened was told."""
        self.count_bookmarks: Callable[[], int] = lambda: 1
        """How often a bookmark that is due is sent; a fault changes it."""
        self.over = asyncio.Event()
        """Set when the watch has come to its end."""
        self.cursor = self._first_cursor()

    def end(self) -> None:
        """End the stream, as a timeout would."""
        self._is_over = True
        self.over.set()
        self._wake.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The stream, in pieces of one or more whole lines; the next is made when the last was taken."""
        self._table.listeners.add(self._wake.set)
        self._start_timers()
        try:
            for piece in self._beginning():
                yield piece
            while not self._is_over:
                piece = self._next()
                if piece is None:
                    return
                if piece:
                    self.is_idle = False
                    yield piece
                else:
                    await self._rest()
        finally:
            self._table.listeners.discard(self._wake.set)
            for timer in self._timers:
                timer.cancel()
            self.is_idle = True
            self._on_idle()

    async def _rest(self) -> None:
        self.is_idle = True
        self._on_idle()
        await self._wake.wait()
        self._wake.clear()

    def _first_cursor(self) -> int:
        wanted = read_version(self._options.version)
        if self._options.initial_events:
            return self._storage.revision
        return wanted or self._storage.revision

    def _beginning(self) -> Iterator[bytes]:
        options, storage = self._options, self._storage
        if options.initial_events and (ahead := ahead_of(storage, read_version(options.version))):
            self._is_over = True
            yield error_line(ahead)
            return
        starts_with_state = options.initial_events or (
            options.initial_events is None and options.version in {"", "0"}
        )
        if not starts_with_state:
            if self.cursor < storage.compacted:
                self._is_over = True
                yield error_line(_too_old(self.cursor, storage.compacted))
            return
        lines: list[bytes] = []
        matching = filter(
            self._selection.matches, list(self._table.scan(self._selection.prefix, self.cursor))
        )
        for record in matching:
            lines.append(line(b"ADDED", self._writer.stored(record.value)))
            if len(lines) == _FRAME:
                yield b"".join(lines)
                lines.clear()
        if options.initial_events and options.wants_bookmarks:
            lines.append(self._bookmark({"annotations": {INITIAL_EVENTS_END: "true"}}))
        if lines:
            yield b"".join(lines)

    def _next(self) -> bytes | None:
        """What is to be told now: nothing if that is all, None if the reader is too far behind."""
        records = self._unread()
        if records is None:
            return None
        told = [event_of(record, self._selection, self._writer) for record in records[:_FRAME]]
        lines = [each for each in told if each is not None]
        if len(records) > _FRAME:
            self.cursor = records[_FRAME - 1].revision
            return b"".join(lines) or self._next()
        self.cursor = max(self.cursor, self._storage.revision)
        while self._bookmarks_due:
            self._bookmarks_due -= 1
            lines.append(self._bookmark({}))
        return b"".join(lines)

    def _unread(self) -> list[Record] | None:
        if self.cursor >= self._storage.revision:
            return []
        if self.cursor < self._storage.compacted:
            return None
        records = self._table.since(self.cursor)
        return None if len(records) > self._limits.backlog else records

    def _bookmark(self, extra: Plain) -> bytes:
        return line(b"BOOKMARK", self._writer.bookmark({"resourceVersion": str(self.cursor), **extra}))

    def _start_timers(self) -> None:
        timeout = self._options.timeout or self._limits.timeout
        self._timers.append(self._clock.call_later(timeout, self.end))
        if self._options.wants_bookmarks:
            self._schedule_bookmark()

    def _schedule_bookmark(self) -> None:
        self._timers = [
            *self._timers[:1],
            self._clock.call_later(self._limits.bookmark_every, self._bookmark_now),
        ]

    def _bookmark_now(self) -> None:
        self._bookmarks_due += self.count_bookmarks()
        self._wake.set()
        self._schedule_bookmark()


def _too_old(wanted: int, oldest: int) -> Failure:
    return Failure(410, "Expired", f"too old resource version: {wanted} ({oldest})")
