"""The queue of Events to write: in order for each object, fair to all objects, and patient with the server.

::

    add ──> lane of the object ──> rotation ──take──> in flight ──succeeded──> gone, or again if more was counted meanwhile
                                      ^                   ├──retry_later──> the end of the rotation; all wait
                                      └───────────────────┘└──gave_up──> gone

An object has at most one write in flight. A temporary failure, such as a lost connection, pauses all writes; after the
pause a single one, of the next object, finds out whether the server is back; so does the very first one. So an outage
costs no record more attempts than its turn, and an object whose writes always fail does not keep the others waiting.

A record that is in the queue already is not added again: its write has the count of the moment at which it is sent.
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
"""How often one write is tried; client-go's number."""
CONCURRENCY: Final = 4
"""How many writes are in flight at once, each of another object."""


@dataclass(eq=False, slots=True)
class EventWrite:
    """A write that was taken from the queue.

    Attributes:
        record: The record.
        count: The count to write.
        last_at: When the last of these occurrences happened.
        is_create: Whether the server has no such Event yet.
        attempt: The number of the attempt, from 1.
        serial: Its number among all writes of the queue.
    """

    record: EventRecord
    count: int
    last_at: datetime
    is_create: bool
    attempt: int
    serial: int


@dataclass(eq=False, slots=True)
class _Lane:
    """The records of one object, in the order in which they are written.

    Attributes:
        key: The object.
        records: The records; the first one is in flight, or the next.
        attempts: How often the first one was tried.
    """

    key: Key
    records: deque[EventRecord] = field(default_factory=deque["EventRecord"])
    attempts: int = 0


class EventWriteQueue:
    """Records that are to be written; see the module.

    Args:
        limit: How many records may wait, those that `add` takes in any case aside.
        attempts: How often one write is tried.
        concurrency: How many writes are in flight at once.
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
        """The number of the last write that was taken."""
        return self._serial

    def records(self) -> set[EventRecord]:
        """The records that wait or are in flight."""
        return set(self._queued)

    def add(self, record: EventRecord, *, is_bounded: bool = True) -> bool:
        """Have a record written; return False if there is no room.

        Args:
            record: The record.
            is_bounded: Whether it needs room. Records of Events that the server has already do not: their number is
                bounded by the correlator.
        """
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
        """Take the next write, if one may be sent now."""
        if now < self._paused_until or not self._may_send:
            return None
        lane = self._rotation.popleft()
        record = lane.records[0]
        self._in_flight[record] = lane
        lane.attempts += 1
        self._serial += 1
        return EventWrite(record, record.count, record.last_at, record.written == 0, lane.attempts, self._serial)

    def succeeded(self, write: EventWrite) -> None:
        """Note that the server has responded as wished; the record follows again if it still needs a write."""
        self._is_probing = False
        self._backoff.reset()
        self._end(write, again=write.record.needs_write)

    def gave_up(self, write: EventWrite) -> None:
        """Note that the server refuses a write for good, which tells that it is there."""
        self._is_probing = False
        self._backoff.reset()
        self._end(write, again=False)

    def retry_later(self, write: EventWrite, now: float, random: Random, *, after: float = 0.0) -> bool:
        """Note a temporary failure, and pause; return False if it was the last attempt, which ends the write.

        Args:
            write: The write.
            now: The time.
            random: The source of jitter.
            after: Seconds that the server asks for.
        """
        if not self._is_hurrying:
            # Writes that were in flight together fail together: one pause for all of them.
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
        """Undo `take`: the write was not sent, or nobody knows."""
        lane = self._in_flight.pop(write.record)
        lane.attempts -= 1
        self._rotation.appendleft(lane)

    def hurry(self) -> None:
        """Give every record one last attempt, without a pause."""
        self._is_hurrying = True
        self._paused_until = -math.inf

    def wake_at(self, now: float) -> float | None:
        """When `take` has a write, if nothing else happens before."""
        return max(now, self._paused_until) if self._may_send else None

    @property
    def _may_send(self) -> bool:
        allowed = 1 if self._is_probing and not self._is_hurrying else self._concurrency
        return bool(self._rotation) and len(self._in_flight) < allowed

    def _end(self, write: EventWrite, *, again: bool) -> None:
        record = write.record
        lane = self._in_flight.pop(record)
        lane.records.popleft()
        lane.attempts = 0
        if again:
            lane.records.append(record)
        else:
            self._queued.discard(record)
        if lane.records:
            self._rotation.append(lane)
        else:
            del self._lanes[lane.key]
