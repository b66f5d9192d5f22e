"""The queue of Events to write: its promises, in random sequences of occurrences, successes and failures."""

from __future__ import annotations

import os
from collections import deque
from datetime import UTC, datetime
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.backoff import Backoff
from masthead._sansio.event_correlation import EventRecord
from masthead._sansio.event_occurrences import EventReference, Occurrence
from masthead._sansio.event_writes import EventWrite, EventWriteQueue

AT = datetime(2026, 1, 1, tzinfo=UTC)
EXAMPLES = int(os.environ.get("MASTHEAD_EVENT_SEQUENCES", "60"))
LIMIT, ATTEMPTS, CONCURRENCY = 8, 3, 2


def record_of(obj: str, number: int) -> EventRecord:
    regarding = EventReference("v1", "Pod", "default", obj, obj)
    made = EventRecord((obj, number), Occurrence(regarding, "Normal", "Started", "", "", AT), "", "", 0.0)
    made.count = made.wanted = 1
    return made


class Queues(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.queue = EventWriteQueue(
            LIMIT, attempts=ATTEMPTS, concurrency=CONCURRENCY, backoff=Backoff(1.0, 2.0, 8.0, 0.0)
        )
        self.now = 0.0
        self.numbers = count()
        self.waiting: dict[str, deque[EventRecord]] = {}
        self.tries: dict[EventRecord, int] = {}
        self.in_flight: list[EventWrite] = []
        self.paused_until = 0.0
        self.delay = 1.0
        self.is_checked = False
        self.is_last_try = False
        self.put_backs = 0
        self.takes_since: dict[str, int] = {}

    def everything(self) -> set[EventRecord]:
        return {record for lane in self.waiting.values() for record in lane}

    def free(self) -> set[str]:
        busy = {write.record.first.regarding.name for write in self.in_flight}
        return {obj for obj in self.waiting if obj not in busy}

    def allowed(self) -> int:
        return CONCURRENCY if self.is_checked or self.is_last_try else 1

    @rule(obj=st.sampled_from("abcd"), is_bounded=st.booleans())
    def add(self, obj: str, is_bounded: bool) -> None:
        record = record_of(obj, next(self.numbers))
        is_full = len(self.everything()) >= LIMIT
        assert self.queue.add(record, is_bounded=is_bounded) == (not is_bounded or not is_full)
        if not (is_bounded and is_full):
            self.waiting.setdefault(obj, deque()).append(record)
            self.tries[record] = 0

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def observe_again(self, data: st.DataObject) -> None:
        record = data.draw(st.sampled_from(sorted(self.everything(), key=lambda each: str(each.key))))
        record.count += 1
        record.wanted = record.count
        assert self.queue.add(record)

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 4.0, 20.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def take(self) -> None:
        write = self.queue.take(self.now)
        free = self.free()
        is_expected = bool(free) and len(self.in_flight) < self.allowed() and self.now >= self.paused_until
        assert (write is not None) == is_expected
        if write is None:
            return
        obj = write.record.first.regarding.name
        assert obj in free
        assert self.waiting[obj][0] is write.record
        self.tries[write.record] += 1
        assert write.attempt == self.tries[write.record]
        assert write.count == write.record.count
        assert write.is_create == (write.record.written == 0)
        self.in_flight.append(write)
        for name in free - {obj}:
            self.takes_since[name] = self.takes_since.get(name, 0) + 1
        self.takes_since.pop(obj, None)

    def ended(self, data: st.DataObject) -> EventWrite:
        write = data.draw(st.sampled_from(sorted(self.in_flight, key=lambda each: each.serial)))
        self.in_flight.remove(write)
        return write

    def leave(self, write: EventWrite) -> None:
        obj = write.record.first.regarding.name
        assert self.waiting[obj].popleft() is write.record
        if not self.waiting[obj]:
            del self.waiting[obj]

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        write = self.ended(data)
        write.record.written = write.count
        self.queue.succeeded(write)
        self.leave(write)
        self.is_checked, self.delay = True, 1.0
        self.tries[write.record] = 0
        if write.record.needs_write:  # more was counted while it was in flight
            self.waiting.setdefault(write.record.first.regarding.name, deque()).append(write.record)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        write = self.ended(data)
        write.record.wanted = write.record.written
        self.queue.gave_up(write)
        self.leave(write)
        self.is_checked, self.delay = True, 1.0

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), after=st.sampled_from([0.0, 5.0]))
    def fail(self, data: st.DataObject, after: float) -> None:
        write = self.ended(data)
        is_kept = self.queue.retry_later(write, self.now, lambda: 0.0, after=after)
        assert is_kept == (write.attempt < ATTEMPTS and not self.is_last_try)
        if not is_kept:
            self.leave(write)
        if not self.is_last_try:
            self.is_checked = False
            if self.now >= self.paused_until:  # else a concurrent write has failed before
                self.paused_until = self.now + self.delay
                self.delay = min(8.0, 2 * self.delay)
            self.paused_until = max(self.paused_until, self.now + after)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        write = self.ended(data)
        self.queue.put_back(write)
        self.tries[write.record] -= 1
        self.put_backs += 1

    @precondition(lambda self: not self.is_last_try)
    @rule()
    def hurry(self) -> None:
        self.queue.hurry()
        self.is_last_try, self.paused_until = True, 0.0

    @invariant()
    def the_queue_has_what_waits(self) -> None:
        assert self.queue.records() == self.everything()
        assert len(self.queue) == len(self.everything())

    @invariant()
    def an_object_has_one_write_in_flight(self) -> None:
        objects = [write.record.first.regarding.name for write in self.in_flight]
        assert len(objects) == len(set(objects))

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        # Each of the other objects goes first at most once; a write that was put back does so again.
        assert all(takes <= len("bcd") + self.put_backs for takes in self.takes_since.values())

    @invariant()
    def the_time_to_wake_is_told(self) -> None:
        can = self.free() and len(self.in_flight) < self.allowed()
        assert self.queue.wake_at(self.now) == (max(self.now, self.paused_until) if can else None)


Queues.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=60)
TestQueues = Queues.TestCase
