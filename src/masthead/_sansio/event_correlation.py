"""Event correlation: decides which occurrences are written to the server, and which are only counted.

::

    occurrence ──aggregate──> note and key ──deduplicate──> a record: counted ──spam filter──> granted a write, or not

* **Aggregation**: occurrences that differ in their message only are similar. From the tenth distinct message on, within
  ten minutes of each other, further messages share one record, whose note begins with ``(combined from similar events):
  ``.
* **Deduplication**: occurrences that agree in everything share a record, and thus one Event. With ``events.k8s.io/v1``
  the first occurrence creates it, the second one starts its series, and further ones are only counted here; the count
  is written when the record is refreshed or finished. With core/v1 every occurrence updates ``count`` and
  ``lastTimestamp``.
* **Spam filter**: a token bucket per source, object and type, 25 tokens, one more every five minutes. An occurrence
  that would cause a write takes a token. Without one it is counted and not written.

::

    record:  observe ──> wanted ──write──> written ──observe, refresh──> wanted ──> ...
                └── six minutes without an occurrence: finished; the final count is written, and a new record begins

The correlator writes nothing itself: `EventRecord.wanted` is the count that the server should have at least, and
`EventRecord.written` the count that it has.

differs from client-go: its recorder for ``events.k8s.io/v1`` neither aggregates nor filters, and it ignores the message
and respects the object's resource version when it compares occurrences, so that different messages become one series,
and the same message about an object whose status changes never does. Here the message counts and the resource version
does not, as in its recorder for core/v1.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._sansio.event_limits import CorrelatorOptions, EventAggregator, SpamFilter
from masthead._sansio.event_occurrences import truncate
from masthead._sansio.lru import LruCache

if TYPE_CHECKING:
    from masthead._sansio.event_occurrences import Key, Occurrence

__all__ = ["COMBINED", "EventCorrelator", "EventRecord", "Observation"]

COMBINED: Final = "(combined from similar events): "
"""The beginning of the note of an aggregated Event."""


class EventRecord:
    """One Event: its first occurrence, its count, and the count on the server.

    Attributes:
        key: The key in the correlator.
        first: The first occurrence.
        name: The name of the Event.
        note: The message; of a combined Event, that of the latest occurrence.
        count: The number of occurrences.
        last_at: The time of the last occurrence, by the wall clock.
        last: The time of its observation, by the correlator's clock.
        granted: The number of writes granted by the spam filter.
        wanted: The count that the server should have at least.
        written: The count that the server has; 0 if it has no such Event.
        maybe_written: The count that it may have, after a create with a lost response; 0 for none.
        refresh_at: The time of the next write of the count.
        is_finished: Whether further occurrences begin a new record.
    """

    __slots__ = (
        "count",
        "first",
        "granted",
        "is_finished",
        "key",
        "last",
        "last_at",
        "maybe_written",
        "name",
        "note",
        "refresh_at",
        "wanted",
        "written",
    )

    def __init__(self, key: Key, first: Occurrence, name: str, note: str, now: float) -> None:
        self.key = key
        self.first = first
        self.name = name
        self.note = note
        self.count = 0
        self.last_at = first.at
        self.last = now
        self.granted = 0
        self.wanted = 0
        self.written = 0
        self.maybe_written = 0
        self.refresh_at = 0.0
        self.is_finished = False

    @property
    def needs_write(self) -> bool:
        """Whether the server has a lower count than it should have."""
        return self.wanted > self.written

    @property
    def is_behind(self) -> bool:
        """Whether the server has the Event, but not all of its occurrences."""
        return 0 < self.written < self.count

    def __repr__(self) -> str:
        counts = f"count={self.count}, wanted={self.wanted}, written={self.written}"
        return f"EventRecord({self.name!r}, {self.first.reason!r}, {counts})"


class Observation(msgspec.Struct, frozen=True):
    """The result of an occurrence.

    Attributes:
        record: The record that counts it.
        is_granted: Whether it asks for a write.
        is_filtered: Whether the spam filter has refused the write.
        evicted: A record that was evicted, and has a count to be written.
    """

    record: EventRecord
    is_granted: bool = False
    is_filtered: bool = False
    evicted: EventRecord | None = None


class EventCorrelator:
    """Turns occurrences into records; see the module.

    Times are seconds of a clock that does not jump.

    Args:
        options: The limits.
    """

    __slots__ = ("_aggregator", "_filter", "_in_series", "_options", "_records", "updates_every_time")

    def __init__(self, options: CorrelatorOptions | None = None) -> None:
        self._options = options or CorrelatorOptions()
        self._aggregator = EventAggregator(self._options)
        self._filter = SpamFilter(self._options)
        self._records: LruCache[Key, EventRecord] = LruCache(self._options.cache_size)
        # In the order of their refreshes: the interval after the last write is the same for all.
        self._in_series: OrderedDict[Key, EventRecord] = OrderedDict()
        self.updates_every_time = False
        """Whether every occurrence is written, as for core/v1, and not only the first two."""

    def __len__(self) -> int:
        return len(self._records)

    def observe(self, occurrence: Occurrence, now: float, name: str) -> Observation:
        """Count an occurrence.

        Args:
            occurrence: The occurrence.
            now: The time.
            name: The name of the Event, if this is its first occurrence.
        """
        similarity = occurrence.similarity
        is_combined = self._aggregator.is_combined(similarity, occurrence.note, now)
        key: Key = (similarity, None if is_combined else occurrence.note)
        record, evicted = self._records.get(key), None
        # An idle series has ended, even if `due` was not called in time.
        if record is not None and self._is_idle(record, now):
            evicted = self._finish(record)
            record = None
        note = truncate(COMBINED + occurrence.note) if is_combined else occurrence.note
        if record is None:
            record = EventRecord(key, occurrence, name, note, now)
            evicted = self._forget(self._records.put(key, record)) or evicted
        # Counted before the filter: an occurrence without a write still counts.
        record.count += 1
        record.note = note
        record.last, record.last_at = now, occurrence.at
        if not self._is_write_due(record):
            return Observation(record, evicted=evicted)
        if not self._filter.allows((*occurrence.regarding.identity, occurrence.type), now):
            return Observation(record, is_filtered=True, evicted=evicted)
        record.granted += 1
        record.wanted = record.count
        return Observation(record, is_granted=True, evicted=evicted)

    def wrote(self, record: EventRecord, count: int, now: float) -> None:
        """Note that the server has the record, with this count."""
        record.written = count
        if record.is_finished:  # during the write, so that later occurrences were counted
            record.wanted = record.count
        else:
            self._refresh_later(record, now)

    def gave_up(self, record: EventRecord, now: float) -> None:
        """Note a refused write; a further occurrence may try again, if the spam filter allows it."""
        record.wanted = record.written
        # As if the refused occurrence had not been granted.
        record.granted = min(record.written, 2)
        if record.written and not record.is_finished:
            self._refresh_later(record, now)

    def due(self, now: float) -> list[EventRecord]:
        """Finish and refresh records that are due; return the records whose count is to be written."""
        found: list[EventRecord] = []
        # With core/v1 every occurrence is written, so that no count is left behind.
        if self.updates_every_time:
            return found
        while (record := self._records.oldest()) is not None and self._is_idle(record, now):
            if (finished := self._finish(record)) is not None:
                found.append(finished)
        while self._in_series:
            record = next(iter(self._in_series.values()))
            if record.refresh_at > now:
                break
            self._in_series.popitem(last=False)
            if record.is_behind:  # `wrote` schedules its next refresh
                record.wanted = record.count
                found.append(record)
            else:
                self._refresh_later(record, now)
        return found

    def next_due(self) -> float | None:
        """The next time at which `due` has records."""
        oldest = self._records.oldest()
        if self.updates_every_time or oldest is None:
            return None
        at = oldest.last + self._options.finish
        for record in self._in_series.values():
            return min(at, record.refresh_at)
        return at

    def behind(self) -> list[EventRecord]:
        """Ask for the write of every count that the server does not have yet; return the records."""
        found = [record for record in self._records.values() if record.is_behind]
        for record in found:
            record.wanted = record.count
        return found

    def _refresh_later(self, record: EventRecord, now: float) -> None:
        record.refresh_at = now + self._options.refresh
        self._in_series[record.key] = record
        self._in_series.move_to_end(record.key)

    def _is_write_due(self, record: EventRecord) -> bool:
        # The first occurrence creates the Event and the second one starts the series.
        return self.updates_every_time or record.granted < min(record.count, 2)

    def _is_idle(self, record: EventRecord, now: float) -> bool:
        # The sum, as in `next_due`: a difference may be rounded down, and wake the caller in an endless loop.
        return not self.updates_every_time and now >= record.last + self._options.finish

    def _finish(self, record: EventRecord) -> EventRecord | None:
        self._records.discard(record.key)
        return self._forget(record)

    def _forget(self, record: EventRecord | None) -> EventRecord | None:
        """Forget a record; return it if its count is to be written."""
        if record is None:
            return None
        record.is_finished = True
        self._in_series.pop(record.key, None)
        if not record.is_behind:
            return None
        record.wanted = record.count
        return record
