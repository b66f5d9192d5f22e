"""Watch: a cursor in the history of a table.

A watch has no queue. It remembers the revision of the last event, and continues there after a write, as soon as its
client has read the previous chunk. So a slow client costs little and does not slow down others. A client that falls too
far behind is cut off, and can resume from its last version.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.resources.custom.conversions import Conversions
from masthead_server.verbs.lists import ahead_of
from masthead_server.verbs.watch_events import INITIAL_EVENTS_END, error_line, event_of
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.options import read_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType
    from typing import Self

    from masthead_server.clock import Timer
    from masthead_server.cluster import ClusterState
    from masthead_server.fault import Fault
    from masthead_server.verbs.held_view import HeldView
    from masthead_server.verbs.representation import Representation
    from masthead_server.verbs.selection import SelectionPredicate
    from masthead_server.wire.options import CollectionOptions
    from masthead_server.wire.plain import Plain

__all__ = ["WatchLimits", "Watcher", "too_old"]

_CHUNK: Final = 65_536
"""Bytes after which a chunk of the stream is sent, so that long initial events do not block other
requests."""
_END_TIMEOUT: Final = 5.0
"""Seconds for a client to read the end of its stream."""
_LAST_BOOKMARK: Final = 2.0
"""Seconds before a watch's end at which it gets a last bookmark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLimits:
    """How watches behave.

    Attributes:
        bookmark_every: Seconds between bookmarks.
        timeout: Default of a request's ``timeoutSeconds``.
        backlog: How many writes may be pending for a client that does not read; with one more, it is cut off.
    """

    bookmark_every: float = 60.0
    timeout: float = 1800.0
    backlog: int = 10_000


class Watcher:
    """One watch: a context manager, to be read until its end.

    Args:
        cluster: The cluster state.
        selection: The objects to watch.
        options: The version to start from, bookmarks and timeout.
        representation: How objects appear in its events.
        limits: Its limits.
        on_idle: Called when there is nothing left to send.
        view: What faults let it see.
        headers: Further headers of the response.

    Raises:
        StatusFailure: If the version cannot be read.
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
        view: HeldView | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.headers = headers
        self.silenced_by: Fault | None = None
        """The fault that has silenced it; None while it sends events."""
        self.held_at: int | None = None
        """The last revision that faults let it send; None for any."""
        self._view = view
        self.ended = asyncio.Event()
        """Set when the watch is to end."""
        self.count_bookmarks: Callable[[], int] = lambda: 1
        """How often a bookmark is sent that is due; a fault changes it, and 0 holds it back."""
        self.abort: Callable[[], object] = lambda: None
        """Aborts the connection of a client that does not read even the end of the stream."""
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
        self._pending_writes = 0
        self._copies_due = 0
        self._is_holding = False
        self._is_idle = False
        self._is_closed = False
        self._until: int | None = None
        self._is_past_state = False
        self._conversions: Conversions | None = None
        self._converted: int | None = None
        """The revision up to which a webhook has converted all objects; None if none does."""
        wanted = read_version(options.version)
        self._starts_with_state = options.initial_events is not False and (options.initial_events is True or not wanted)
        # The first bookmark ends the initial events; a watch from a version has none.
        self._owes_end = self._starts_with_state and options.wants_bookmarks
        is_new = self._starts_with_state or not wanted
        frozen = view.freeze() if view is not None and is_new else None
        self._shown = self._storage.revision if frozen is None else frozen
        """The newest revision that initial events may show."""
        if self._starts_with_state:
            stale = view.find_stale(self._storage) if view is not None else None
            self.cursor = self._shown if stale is None else max(wanted, min(stale, self._shown))
        else:
            self.cursor = wanted or self._shown
        """The revision up to which all events were sent."""
        self._initial = self._initial_chunks(wanted)

    def __enter__(self) -> Self:
        if (self._options.timeout or 0) < 0:  # timed out before it starts
            self._close()
            return self
        self._open()
        return self

    def _open(self) -> None:
        """Follow the table, and start the timers."""
        self._table.listeners[self._on_write] = None
        self._table.enders[self.end] = None
        timeout = self._options.timeout or self._limits.timeout
        self._timers["end"] = self._clock.call_later(timeout, self.end)
        if self._options.wants_bookmarks:
            self._schedule_bookmark()
            if timeout > _LAST_BOOKMARK:
                self._timers["last bookmark"] = self._clock.call_later(timeout - _LAST_BOOKMARK, self._bookmark_now)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._on_idle()

    @property
    def is_caught_up(self) -> bool:
        """Whether all events were sent, or no more will be."""
        if self.silenced_by is not None:
            return not self.silenced_by.is_removed
        return self._is_closed or (self._is_idle and not self._wake.is_set())

    def has_selectors(self, options: CollectionOptions) -> bool:
        """Tell whether it selects objects by the same selectors."""
        own = self._options
        return (own.label_selector, own.field_selector, own.shard_selector) == (
            options.label_selector,
            options.field_selector,
            options.shard_selector,
        )

    @property
    def newest(self) -> int:
        """The revision of the last write to any table."""
        return self._storage.revision

    async def read(self) -> bytes:
        """Wait for the next chunk of the stream: one or more whole lines; empty at its end.

        The call means that the client has taken the chunk before.
        """
        self._pending_writes = 0
        while not (chunk := await self._produce()):
            if self._is_closed or self.ended.is_set():
                break
            self._is_idle = True
            self._on_idle()
            await self._wake.wait()
            self._wake.clear()
            self._is_idle = False
            self._pending_writes = 0
        return chunk

    async def _produce(self) -> bytes:
        """The next chunk; empty if nothing is left."""
        if not self._selection.served.converts_by_webhook:
            return self._first() or self._next()
        conversions = await self._convert()
        try:
            with conversions.active():
                return self._first() or self._next()
        except StatusFailure as failure:  # an object cannot be converted
            return self._fail(failure)

    async def _convert(self) -> Conversions:
        """Have a webhook convert all objects up to the present revision that the watch may show."""
        newest = self._storage.revision
        values = list(self._pending_values(newest))
        # The initial events are sent in several chunks and need their conversions until the last one.
        if self._conversions is None or (self._is_past_state and not values):
            self._conversions = Conversions()
        with suppress(StatusFailure):  # raised again with the event of the object
            await self._conversions.run(self._selection.served.codec.items, values)
        self._converted = newest
        return self._conversions

    def _pending_values(self, newest: int) -> Iterator[bytes]:
        if self._converted is None and self._starts_with_state:
            yield from (record.value for record in self._table.scan(self._selection.prefix, self.cursor))
        for record in self._table.since(self.cursor):
            if record.revision <= newest:
                yield record.value
                if record.before is not None:
                    yield record.before.value

    def _first(self) -> bytes:
        chunk = b"" if self._is_closed else next(self._initial, b"")
        self._is_past_state = not chunk
        return chunk

    def end(self) -> None:
        """End the stream after the events until now, as at its timeout, or when the resource is no longer served."""
        if self._until is None:
            self._until = self._storage.revision
        self.ended.set()
        self._wake.set()
        self._abort_later()

    async def stay_silent(self, fault: Fault) -> None:
        """Send nothing more, and do not time out, until the fault is removed or the watch ends."""
        self._close()
        self.silenced_by = fault
        self._on_idle()
        while not self.ended.is_set() and not fault.is_removed:
            await self._wake.wait()
            self._wake.clear()
        self.silenced_by = None
        if not self.ended.is_set():
            self._is_closed = False
            self._open()

    def release_bookmarks(self) -> None:
        """Send the bookmark that was held back, if there is one and nothing holds it any more."""
        if self._is_holding:
            self._bookmark_now()

    def release(self) -> None:
        """Send the events that were held back, as far as nothing holds them any more."""
        if self.held_at is not None or self.silenced_by is not None:
            self._wake.set()

    def _close(self) -> None:
        self._is_closed = True
        self._table.listeners.pop(self._on_write, None)
        self._table.enders.pop(self.end, None)
        for timer in self._timers.values():
            timer.cancel()

    def _on_write(self) -> None:
        self._wake.set()
        self._pending_writes += 1
        # An idle watch has read everything, so that its counter only awaits the next turn of the loop.
        if self._pending_writes > self._limits.backlog and not self._is_idle:
            self._close()
            self._abort_later()
            self._on_idle()

    def _abort_later(self) -> None:
        self._timers["abandon"] = self._clock.call_later(_END_TIMEOUT, self.abort)

    def _initial_chunks(self, wanted: int) -> Iterator[bytes]:
        storage = self._storage
        if not self._starts_with_state:
            # A watch that resumes gets no state; if its version has expired, the client has to list again.
            oldest = max(storage.compacted, storage.loaded)
            if self.cursor < oldest:
                yield self._fail(too_old(self.cursor, oldest))
            return
        if ahead := ahead_of(self._shown, wanted):
            yield self._fail(ahead)
            return
        if self._shown < storage.compacted:
            yield self._fail(too_old(self._shown, storage.compacted))
            return
        state = self._table.scan(self._selection.prefix, self.cursor)
        matching = filter(self._selection.matches, list(state))
        event = self._representation.event
        yield from _chunks(event(b"ADDED", record.value) for record in matching)
        if self._owes_end:
            self._bookmark_now()

    def _fail(self, failure: StatusFailure) -> bytes:
        self._close()
        return error_line(failure)

    def _next(self) -> bytes:
        """The next chunk of events; empty if nothing is pending, or if the client fell too far behind."""
        if self._is_closed:
            return b""
        # Compaction has dropped events that this client has not seen; it has to list again.
        if self._table.dropped > self.cursor:
            self._close()
            return b""
        # After `end`, later writes belong to the next watch.
        newest = self._storage.revision if self._until is None else self._until
        if self._converted is not None:
            newest = min(newest, self._converted)
        self._update_hold()
        if self.held_at is not None:
            newest = min(newest, self.held_at)
        chunk = next(_chunks(self._events(newest)), b"")
        if self.cursor < newest:
            return chunk
        # A fault that holds events back holds later bookmarks back, too.
        if self.held_at is not None and self.cursor > self.held_at:
            return chunk
        copies, self._copies_due = self._copies_due, 0
        if not copies or self.cursor > self._storage.revision:  # no bookmark for a version that does not exist yet
            return chunk
        return chunk + self._bookmark() * copies

    def _update_hold(self) -> None:
        """Ask the pending faults how far this watch may go."""
        if self._view is None or not self._view.is_held:
            self.held_at = None
        else:
            self.held_at = self._view.limit(self._table.since(self.cursor), self._selection)

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
    """The version that a watch starts from has been compacted."""
    return StatusFailure(410, "Expired", f"too old resource version: {wanted} ({oldest})")


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to chunks that are worth sending."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size >= _CHUNK:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)
