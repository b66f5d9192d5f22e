"""Watch: a reader's place in the history of a table.

A watch keeps no queue. It remembers the last revision that it told of, and reads on from there whenever something was
written and its reader took what was sent. So a slow reader costs little and slows nobody; one that falls too far
behind is cut off, and can come back with the version that it saw last.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._server.verbs.events import INITIAL_EVENTS_END, error_line, event_of
from masthead._server.verbs.lists import ahead_of
from masthead._server.wire.failures import StatusFailure
from masthead._server.wire.options import read_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from masthead._server.clock import Timer
    from masthead._server.cluster import ClusterState
    from masthead._server.verbs.representation import Representation
    from masthead._server.verbs.selection import SelectionPredicate
    from masthead._server.wire.options import CollectionOptions
    from masthead._server.wire.plain import Plain

__all__ = ["Watcher", "WatchLimits", "too_old"]

_PIECE: Final = 65_536
"""Bytes after which a piece of the stream is sent, so that a long beginning lets others have their turn."""
_PATIENCE: Final = 5.0
"""Seconds that a client has to take the end of its stream."""
_LAST_BOOKMARK: Final = 2.0
"""Seconds before a watch's end at which it gets a last bookmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """How watches behave.

    Attributes:
        bookmark_every: Seconds between bookmarks.
        timeout: Seconds until a watch ends that did not say when.
        backlog: How many writes may come while a reader does not take what it was sent; with one more, it is cut off.
        has_watch_list: Whether a watch may begin with the state.
    """

    bookmark_every: float = 60.0
    timeout: float = 1800.0
    backlog: int = 10_000
    has_watch_list: bool = True


class Watcher:
    """One watch, from its first event to its end: entered, then read until there is nothing more.

    Args:
        cluster: What is watched.
        selection: Which objects.
        options: From when, and how.
        representation: How objects appear in its events.
        limits: How long and how far behind.
        on_idle: Called when there is nothing left to tell.
        headers: What its answer says besides.

    Raises:
        StatusFailure: The version cannot be read.
    """

    def __init__(
        self,
        cluster: ClusterState,
        selection: SelectionPredicate,
        options: CollectionOptions,
        representation: Representation,
        limits: WatchLimits,
        on_idle: Callable[[], object],
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.headers = headers
        self.over = asyncio.Event()
        """Set when the watch is told to end."""
        self.count_bookmarks: Callable[[], int] = lambda: 1
        """How often a bookmark that falls due is sent; a fault changes it, and 0 holds it back."""
        self.abort: Callable[[], object] = lambda: None
        """Breaks the connection, for a client that does not take even the end of the stream."""
        self._storage = cluster.storage
        self._table = cluster.storage.table(selection.served.table)
        self._clock = cluster.clock
        self._selection = selection
        self._options = options
        self._representation = representation
        self._limits = limits
        self._on_idle = on_idle
        self._wake = asyncio.Event()
        self._timers: dict[str, Timer] = {}
        self._missed = 0
        self._copies_due = 0
        self._is_holding = False
        self._is_resting = False
        self._is_closed = False
        self._until: int | None = None
        wanted = read_version(options.version)
        self._starts_with_state = options.initial_events is not False and (
            options.initial_events is True or not wanted
        )
        # The first bookmark says that this was the state; a watch from a version has none to end.
        self._owes_end = self._starts_with_state and options.wants_bookmarks
        self.cursor = wanted if wanted and not self._starts_with_state else self._storage.revision
        """The revision up to which everything was told."""
        self._first_pieces = self._beginning(wanted)

    def __enter__(self) -> Self:
        if (self._options.timeout or 0) < 0:  # over before it begins
            self._close()
            return self
        self._table.listeners.add(self._hear)
        timeout = self._options.timeout or self._limits.timeout
        self._timers["end"] = self._clock.call_later(timeout, self.end)
        if self._options.wants_bookmarks:
            self._schedule_bookmark()
            if timeout > _LAST_BOOKMARK:
                self._timers["last bookmark"] = self._clock.call_later(
                    timeout - _LAST_BOOKMARK, self._bookmark_now
                )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._on_idle()

    @property
    def is_caught_up(self) -> bool:
        """Whether everything that happened was sent; also so once nothing more will be."""
        return self._is_closed or (self._is_resting and not self._wake.is_set())

    @property
    def newest(self) -> int:
        """The revision of the last write to anything."""
        return self._storage.revision

    async def read(self) -> bytes:
        """Wait for the next piece of the stream: one or more whole lines; nothing at its end.

        To ask for a piece is to say that the one before was taken.
        """
        self._missed = 0
        while not (piece := self._first() or self._next()):
            if self._is_closed or self.over.is_set():
                break
            self._is_resting = True
            self._on_idle()
            await self._wake.wait()
            self._wake.clear()
            self._is_resting = False
            self._missed = 0
        return piece

    def _first(self) -> bytes:
        return b"" if self._is_closed else next(self._first_pieces, b"")

    def end(self) -> None:
        """Let the stream end when it has told what happened until now, as it does when its time is up."""
        if self._until is None:
            self._until = self._storage.revision
        self.over.set()
        self._wake.set()
        self._abandon_later()

    def silence(self) -> None:
        """Tell nothing more, and let no time run out; only `end` is still heard."""
        self._close()
        self._on_idle()

    def release_bookmarks(self) -> None:
        """Send the bookmark that was held back, if there is one and nothing holds it any more."""
        if self._is_holding:
            self._bookmark_now()

    def _close(self) -> None:
        self._is_closed = True
        self._table.listeners.discard(self._hear)
        for timer in self._timers.values():
            timer.cancel()

    def _hear(self) -> None:
        self._wake.set()
        self._missed += 1
        if self._missed > self._limits.backlog and not self._is_resting:
            self._close()
            self._abandon_later()
            self._on_idle()

    def _abandon_later(self) -> None:
        self._timers["abandon"] = self._clock.call_later(_PATIENCE, self.abort)

    def _beginning(self, wanted: int) -> Iterator[bytes]:
        storage = self._storage
        if not self._starts_with_state:
            if self.cursor < storage.compacted:
                yield self._fail(too_old(self.cursor, storage.compacted))
            return
        if ahead := ahead_of(storage, wanted):
            yield self._fail(ahead)
            return
        state = self._table.scan(self._selection.prefix, self.cursor)
        matching = filter(self._selection.matches, list(state))
        event = self._representation.event
        yield from _pieces(event(b"ADDED", record.value) for record in matching)
        if self._owes_end:
            self._bookmark_now()

    def _fail(self, failure: StatusFailure) -> bytes:
        self._close()
        return error_line(failure)

    def _next(self) -> bytes:
        """What is to be told now; nothing if that is all, or if the reader fell too far behind."""
        if self._is_closed:
            return b""
        if self._table.dropped > self.cursor:
            self._close()
            return b""
        newest = self._storage.revision if self._until is None else self._until
        piece = next(_pieces(self._events(newest)), b"")
        if self.cursor < newest:
            return piece
        copies, self._copies_due = self._copies_due, 0
        if not copies or self.cursor > self._storage.revision:  # of a version to come there is nothing to say
            return piece
        return piece + self._bookmark() * copies

    def _events(self, newest: int) -> Iterator[bytes]:
        for record in self._table.since(self.cursor):
            if record.revision > newest:
                break
            self.cursor = record.revision
            event = event_of(record, self._selection, self._representation)
            if event is not None:
                yield event
        self.cursor = max(self.cursor, newest)

    def _bookmark(self) -> bytes:
        meta: Plain = {"resourceVersion": str(self.cursor)}
        if self._owes_end:
            self._owes_end = False
            meta["annotations"] = {INITIAL_EVENTS_END: "true"}
        return self._representation.bookmark(meta)

    def _schedule_bookmark(self) -> None:
        self._timers["bookmark"] = self._clock.call_later(self._limits.bookmark_every, self._on_bookmark_time)

    def _on_bookmark_time(self) -> None:
        self._schedule_bookmark()
        self._bookmark_now()

    def _bookmark_now(self) -> None:
        copies = self.count_bookmarks()
        self._is_holding = not copies
        if copies:
            self._copies_due += copies
            self._wake.set()


def too_old(wanted: int, oldest: int) -> StatusFailure:
    """The version that a watch is to begin with is forgotten."""
    return StatusFailure(410, "Expired", f"too old resource version: {wanted} ({oldest})")


def _pieces(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Put lines together until they are worth sending."""
    piece: list[bytes] = []
    size = 0
    for each in lines:
        piece.append(each)
        size += len(each)
        if size >= _PIECE:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)
