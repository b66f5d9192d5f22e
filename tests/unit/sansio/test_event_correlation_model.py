"""The correlator compared with a naive one, which remembers everything and searches it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.event_correlation import EventCorrelator, EventRecord
from masthead._sansio.event_limits import CorrelatorOptions
from masthead._sansio.event_occurrences import EventReference, Occurrence

START = datetime(2026, 1, 1, tzinfo=UTC)
EXAMPLES = int(os.environ.get("MASTHEAD_EVENT_SEQUENCES", "60"))

AFTER, INTERVAL, BURST, REFILL, REFRESH, FINISH = 3, 50.0, 4, 20.0, 90.0, 30.0


class Said(NamedTuple):
    """What tells occurrences apart, the message aside."""

    obj: str
    type: str
    reason: str


@dataclass
class NaiveEvent:
    """An Event by its history.

    Attributes:
        said: What it is about.
        note: Its message; None if it is combined.
        name: Its name.
        seen: When it was observed.
        grants: How many writes were granted.
        written: The count that the server has.
        wanted: The count that it should have.
        refreshed: When it was written, or refused, last.
        is_open: Whether further occurrences belong to it.
    """

    said: Said
    note: str | None
    name: str
    seen: list[float] = field(default_factory=list)
    grants: int = 0
    written: int = 0
    wanted: int = 0
    refreshed: float = 0.0
    is_open: bool = True


@dataclass
class NaiveBucket:
    """Tokens, refilled at every read."""

    tokens: float
    at: float

    def take(self, now: float) -> bool:
        self.tokens, self.at = min(BURST, self.tokens + (now - self.at) / REFILL), now
        if self.tokens < 1 - 1e-9:
            return False
        self.tokens -= 1
        return True


class NaiveCorrelator:
    """The rules, one after the other, over lists; an entry that was used moves to the end."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.events: list[NaiveEvent] = []
        self.finished: list[NaiveEvent] = []
        self.similar: list[tuple[Said, float, list[str]]] = []
        self.buckets: list[tuple[tuple[str, str], NaiveBucket]] = []
        self.is_core = False

    def observe(self, said: Said, note: str, now: float, name: str) -> tuple[NaiveEvent, bool, bool]:
        own = None if self._is_combined(said, note, now) else note
        event = next((event for event in self.events if (event.said, event.note) == (said, own)), None)
        if event is not None and self._is_idle(event, now):
            self.events.remove(event)
            self._close(event)
            event = None
        if event is None:
            event = NaiveEvent(said, own, name)
        else:
            self.events.remove(event)
        self.events.append(event)
        if len(self.events) > self.size:
            self._close(self.events.pop(0))
        event.seen.append(now)
        needs = self.is_core or event.grants < min(len(event.seen), 2)
        if not needs:
            return event, False, False
        is_granted = self._bucket((said.obj, said.type), now).take(now)
        if is_granted:
            event.grants += 1
            event.wanted = len(event.seen)
        return event, is_granted, not is_granted

    def finish_idle(self, now: float) -> None:
        for event in [event for event in self.events if self._is_idle(event, now)]:
            self.events.remove(event)
            self._close(event)

    def refresh(self, now: float) -> None:
        if not self.is_core:
            for event in self.events:
                if event.written and now >= event.refreshed + REFRESH:
                    event.refreshed = now
                    event.wanted = max(event.wanted, len(event.seen))

    def _is_idle(self, event: NaiveEvent, now: float) -> bool:
        return not self.is_core and now >= event.seen[-1] + FINISH

    def _close(self, event: NaiveEvent) -> None:
        event.is_open = False
        self.finished.append(event)
        if event.written:
            event.wanted = len(event.seen)

    def _is_combined(self, said: Said, note: str, now: float) -> bool:
        found = next((pair for pair in self.similar if pair[0] == said), None)
        if found is not None:
            self.similar.remove(found)
        if found is None or now - found[1] > INTERVAL:
            found = (said, now, [])
        notes = found[2]
        is_combined = note not in notes and len(notes) == AFTER - 1
        if note not in notes and not is_combined:
            notes.append(note)
        self.similar.append((said, now, notes))
        del self.similar[: -self.size]
        return is_combined

    def _bucket(self, key: tuple[str, str], now: float) -> NaiveBucket:
        found = next((bucket for bucket in self.buckets if bucket[0] == key), None)
        if found is None:
            found = (key, NaiveBucket(BURST, now))
        else:
            self.buckets.remove(found)
        self.buckets.append(found)
        del self.buckets[: -self.size]
        return found[1]


class Correlators(RuleBasedStateMachine):
    @initialize(size=st.integers(1, 6), is_core=st.booleans())
    def begin(self, size: int, is_core: bool) -> None:
        options = CorrelatorOptions(
            cache_size=size,
            aggregate_after=AFTER,
            aggregate_interval=INTERVAL,
            burst=BURST,
            refill=REFILL,
            refresh=REFRESH,
            finish=FINISH,
        )
        self.correlator = EventCorrelator(options)
        self.model = NaiveCorrelator(size)
        self.correlator.updates_every_time = self.model.is_core = is_core
        self.now = 0.0
        self.names = count()
        self.pairs: list[tuple[EventRecord, NaiveEvent]] = []
        self.occurrences = 0

    @rule(
        obj=st.sampled_from("ab"),
        type=st.sampled_from(["Normal", "Warning"]),
        reason=st.sampled_from(["Started", "Failed"]),
        note=st.sampled_from(["1", "2", "3", "4", "5"]),
        version=st.sampled_from(["7", "8"]),
    )
    def observe(self, obj: str, type: str, reason: str, note: str, version: str) -> None:  # noqa: A002
        name = f"event-{next(self.names)}"
        regarding = EventReference("v1", "Pod", "default", obj, f"uid-{obj}", version)
        occurrence = Occurrence(regarding, type, reason, note, "", START + timedelta(seconds=self.now))
        seen = self.correlator.observe(occurrence, self.now, name)
        event, is_granted, is_filtered = self.model.observe(Said(obj, type, reason), note, self.now, name)
        assert (seen.is_granted, seen.is_filtered) == (is_granted, is_filtered)
        assert (seen.record.name, seen.record.count) == (event.name, len(event.seen))
        assert seen.record.note.endswith(note)
        if seen.evicted is not None:
            assert seen.evicted.needs_write
        if all(record is not seen.record for record, _ in self.pairs):
            self.pairs.append((seen.record, event))
        self.occurrences += 1

    @rule(seconds=st.one_of(st.integers(0, 60), st.floats(0, 60)))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def wait_until_due(self) -> None:
        due = self.correlator.next_due()
        self.now = self.now if due is None else max(self.now, due)

    @rule()
    def look(self) -> None:
        found = self.correlator.due(self.now)
        self.model.finish_idle(self.now)
        self.model.refresh(self.now)
        assert all(record.needs_write for record in found)
        due = self.correlator.next_due()
        assert due is None or due > self.now

    @precondition(lambda self: any(record.needs_write for record, _ in self.pairs))
    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        waiting = [pair for pair in self.pairs if pair[0].needs_write]
        record, event = data.draw(st.sampled_from(waiting))
        taken = data.draw(st.integers(record.wanted, record.count))
        self.correlator.wrote(record, taken, self.now)
        event.written, event.refreshed = taken, self.now
        if not event.is_open:
            event.wanted = len(event.seen)

    @precondition(lambda self: any(record.needs_write for record, _ in self.pairs))
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        waiting = [pair for pair in self.pairs if pair[0].needs_write]
        record, event = data.draw(st.sampled_from(waiting))
        self.correlator.gave_up(record, self.now)
        event.wanted, event.grants, event.refreshed = event.written, min(event.written, 2), self.now

    @rule()
    def catch_up(self) -> None:
        self.correlator.behind()
        for event in self.model.events:
            if event.written:
                event.wanted = max(event.wanted, len(event.seen))

    @invariant()
    def both_agree(self) -> None:
        for record, event in self.pairs:
            assert record.count == len(event.seen)
            assert record.written == event.written
            assert record.is_finished != event.is_open
            assert record.needs_write == (event.wanted > event.written)
        assert len(self.correlator) <= self.model.size

    @invariant()
    def no_occurrence_is_lost_or_counted_twice(self) -> None:
        assert sum(record.count for record, _ in self.pairs) == self.occurrences


Correlators.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=60)
TestCorrelators = Correlators.TestCase
