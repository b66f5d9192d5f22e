"""The queue of Event writes: in order per object, fair between objects, with pauses after failures.

::

    add ──> lane of the object ──> rotation ──take──> in flight ──succeeded──> ended, or queued again
                                      ^                   ├──retry_later──> the end of the rotation; all wait
                                      └───────────────────┘└──gave_up──> ended

An object has at most one write in flight. A temporary failure, such as a lost connection, pauses all writes. After the
pause, a single write of the next object tests whether the server is back; so does the very first write. So an outage
costs no record more attempts than its turn, and an object whose writes always fail does not delay the others.

A queued record is not added again: its write has the count at the time of sending.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._sansio.backoff import Backoff

if TYPE_CHECKING:
    from datetime import datetime

    from masthead._sansio.backoff import Random
    from masthead._sansio.event_correlation import EventRecord
    from masthead._sansio.event_occurrences import Key

__all__ = ["EventWrite", "EventWriteQueue"]

ATTEMPTS: Final = 12
"""Attempts per write, as in client-go."""
CONCURRENCY: Final = 4
"""Concurrent writes, each of another object."""


@dataclass(eq=False, slots=True)
class EventWrite:
    """A write taken from the queue.

    Attributes:
        record: The record.
        count: The count to write.
        last_at: The time of the last of these occurrences.
        is_create: Whether the server has no such Event yet.
        attempt: The number of the attempt, from 1.
        serial: The number among all writes of the queue.
    """

    record: EventRecord
    count: int
    last_at: datetime
    is_create: bool
    attempt: int
    serial: int


@dataclass(eq=False, slots=True)
class _Lane:
    """The records of one object, in the order of their writes.

    Attributes:
        key: The object.
        records: The records; the first one is in flight, or next.
        attempts: The attempts of the first record.
    """

    key: Key
    records: deque[EventRecord] = field(default_factory=deque["EventRecord"])
    attempts: int = 0


class EventWriteQueue:
    """The queue of records to write; see the module.

    Args:
        limit: The maximum number of queued records, without unbounded ones.
        attempts: Attempts per write.
        concurrency: Concurrent writes.
        backoff: The pauses after temporary failures.
    """

    def __init__(
        self,
        limit: int,
        *,
        attempts: int = ATTEMPTS,
        concurrency: int = CONCURRENCY,
        backoff: Backoff | None = None,
    ) -> None:
        self._limit = limit
        self._attempts = attempts
        self._concurrency = concurrency
        self._backoff = backoff or Backoff(1.0, 2.0, 30.0, 0.5)
        self._lanes: dict[Key, _Lane] = {}
        self._rotation: deque[_Lane] = deque()
        self._queued: set[EventRecord] = set()
        self._in_flight: dict[EventRecord, _Lane] = {}
        self._paused_until = -math.inf
        self._is_probing = True
        self._is_hurrying = False
        self._serial = 0

    def __len__(self) -> int:
        return len(self._queued)

    def __contains__(self, record: EventRecord) -> bool:
        return record in self._queued

    @property
    def serial(self) -> int:
        """The number of the last write taken from the queue."""
        return self._serial

    def records(self) -> set[EventRecord]:
        """The records in the queue or in flight."""
        return set(self._queued)

    def add(self, record: EventRecord, *, is_bounded: bool = True) -> bool:
        """Queue a record; return False if the queue is full.

        Args:
            record: The record.
            is_bounded: Whether the limit applies. It does not for Events that the server has: the correlator bounds
                their number.
        """
        # Its write takes the count at the time of sending.
        if record in self._queued:
            return True
        if is_bounded and len(self._queued) >= self._limit:
            return False
        self._queued.add(record)
        key = record.first.regarding.identity
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane(key)
            self._rotation.append(lane)
        lane.records.append(record)
        return True

    def take(self, now: float) -> EventWrite | None:
        """Take the next write, if it may be sent now."""
        if now < self._paused_until or not self._may_send:
            return None
        lane = self._rotation.popleft()
        record = lane.records[0]
        self._in_flight[record] = lane
        lane.attempts += 1
        self._serial += 1
        return EventWrite(record, record.count, record.last_at, record.written == 0, lane.attempts, self._serial)

    def succeeded(self, write: EventWrite) -> None:
        """Note a success; the record is queued again if it has a newer count."""
        self._is_probing = False
        self._backoff.reset()
        self._end(write, again=write.record.needs_write)

    def gave_up(self, write: EventWrite) -> None:
        """Note a final refusal, which shows that the server is back."""
        self._is_probing = False
        self._backoff.reset()
        self._end(write, again=False)

    def retry_later(self, write: EventWrite, now: float, random: Random, *, after: float = 0.0) -> bool:
        """Note a temporary failure, and pause; return False after the last attempt, which ends the write.

        Args:
            write: The write.
            now: The time.
            random: The source of jitter.
            after: The delay requested by the server, in seconds.
        """
        if not self._is_hurrying:
            # Concurrent writes fail together: one pause for all of them.
            if now >= self._paused_until:
                self._paused_until = now + self._backoff.next(now, random)
            self._paused_until = max(self._paused_until, now + after)
            self._is_probing = True
        if write.attempt >= self._attempts or self._is_hurrying:
            self._end(write, again=False)
            return False
        self._rotation.append(self._in_flight.pop(write.record))
        return True

    def put_back(self, write: EventWrite) -> None:
        """Undo `take`: the write was not sent, or its result is unknown."""
        # It does not count as an attempt, and keeps its turn.
        lane = self._in_flight.pop(write.record)
        lane.attempts -= 1
        self._rotation.appendleft(lane)

    def hurry(self) -> None:
        """Give every record one last attempt, without a pause."""
        # At shutdown there is no time for a pause.
        self._is_hurrying = True
        self._paused_until = -math.inf

    def wake_at(self, now: float) -> float | None:
        """The time at which `take` has a write, if nothing else happens before."""
        return max(now, self._paused_until) if self._may_send else None

    @property
    def _may_send(self) -> bool:
        # A single write tests the server after a failure.
        allowed = 1 if self._is_probing and not self._is_hurrying else self._concurrency
        return bool(self._rotation) and len(self._in_flight) < allowed

    def _end(self, write: EventWrite, *, again: bool) -> None:
        record = write.record
        lane = self._in_flight.pop(record)
        lane.records.popleft()
        lane.attempts = 0
        # Behind the other records of the object, so that a busy one does not starve them.
        if again:
            lane.records.append(record)
        else:
            self._queued.discard(record)
        if lane.records:
            self._rotation.append(lane)
        else:
            del self._lanes[lane.key]
