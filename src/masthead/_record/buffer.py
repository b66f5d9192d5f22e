"""The buffer of a recorder: accepts occurrences from any thread, and hands out writes to the sender.

::

    record(), any thread ──> inbox ──holder of the lock──> correlator ──> queue of writes ──> sender, on the loop

``record`` never waits for the lock. A thread that does not get it leaves its occurrence in the inbox; the holder checks
the inbox again after releasing the lock. So signal handlers and finalizers may call ``record`` in the middle of another
call.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._record.references import event_name
from masthead._sansio.event_correlation import EventCorrelator
from masthead._sansio.event_writes import EventWriteQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from masthead._record.metrics import RecorderMetrics
    from masthead._sansio.backoff import Random
    from masthead._sansio.event_correlation import EventRecord
    from masthead._sansio.event_limits import CorrelatorOptions
    from masthead._sansio.event_occurrences import Occurrence
    from masthead._sansio.event_writes import EventWrite

__all__ = ["EventBuffer", "EventCounts"]

_log: Final = logging.getLogger("masthead.record")

_MAX_SHARE: Final = 64
"""The maximum number of occurrences that one call of ``record`` correlates, including those of other threads."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@set_module("masthead.record")
@dataclass(slots=True)
class EventCounts:
    """Counts of a recorder since its creation.

    Attributes:
        recorded: Recorded occurrences.
        filtered: Occurrences whose write the spam filter has deferred.
        dropped: Occurrences that were dropped, because too many Events waited, or the recorder had stopped.
        sent: Successful writes.
        failed: Abandoned writes.
        pending: Events that wait for their write.
    """

    recorded: int = 0
    filtered: int = 0
    dropped: int = 0
    sent: int = 0
    failed: int = 0
    pending: int = 0


class EventBuffer:
    """Occurrences, records and writes of one recorder.

    Threads: any thread may call `offer`; everything else belongs to the sender's loop.

    Args:
        limit: The maximum number of waiting Events.
        options: The limits of correlation.
        metrics: The instruments.
        random: The source of jitter.
    """

    def __init__(self, limit: int, options: CorrelatorOptions | None, metrics: RecorderMetrics, random: Random) -> None:
        self._limit = limit
        self._metrics = metrics
        self._random = random
        self._correlator = EventCorrelator(options)
        self._queue = EventWriteQueue(limit)
        self._inbox: deque[Occurrence] = deque()
        self._lock = threading.Lock()
        self._monotonic: Callable[[], float] | None = None
        self._wake: Callable[[], object] = lambda: None
        self._is_closed = False
        self._last_nanos = 0
        # Recorders of several processes may name Events of the same microsecond.
        self._offset = int(random() * 1000)
        self._has_dropped = False
        self._drops = threading.RLock()  # reentrant: a signal handler may interrupt a thread in `_drop`
        self.counts: EventCounts = EventCounts()

    def __len__(self) -> int:
        return len(self._queue) + len(self._inbox)

    def open(self, monotonic: Callable[[], float], wake: Callable[[], object]) -> None:
        """Start with a clock, and a sender to wake."""
        self._monotonic, self._wake = monotonic, wake
        wake()

    def close(self) -> None:
        """Accept no further occurrences."""
        self._is_closed = True

    def offer(self, occurrence: Occurrence) -> bool:
        """Accept an occurrence; return False if it is dropped."""
        # The inbox is bounded, too: before the start nothing drains it.
        if self._is_closed or len(self._inbox) >= self._limit:
            self._drop(occurrence)
            return False
        self._inbox.append(occurrence)
        self._share()
        return True

    def turn(self) -> tuple[list[EventWrite], float | None]:
        """Take the writes that are due.

        Returns:
            The writes, and the seconds until more may be due; None if none is scheduled.
        """
        now = self._now()
        with self._locked():
            remaining = self._observe(_MAX_SHARE)
            for record in self._correlator.due(now):
                self._queue.add(record, is_bounded=False)
            writes: list[EventWrite] = []
            while (write := self._queue.take(now)) is not None:
                writes.append(write)
            times = [at for at in (self._queue.wake_at(now), self._correlator.next_due()) if at is not None]
        self._metrics.pending(len(self))
        if remaining:
            return writes, 0.0
        return writes, max(0.0, min(times) - now) if times else None

    def catch_up(self) -> tuple[set[EventRecord], int]:
        """Schedule the write of everything recorded.

        Returns:
            The records, and the serial number of the last write.
        """
        with self._locked():
            self._observe(None)
            for record in self._correlator.behind():
                self._queue.add(record, is_bounded=False)
            waiting = self._queue.records()
            for record in waiting:
                # The next write covers everything, unless it only discovers that an earlier one has succeeded.
                record.wanted = record.count
            return waiting, self._queue.serial

    def hurry(self) -> None:
        """Give every write one last attempt, without delay."""
        with self._locked():
            self._queue.hurry()

    def is_waiting(self, record: EventRecord) -> bool:
        """Whether a record waits for a write."""
        return record in self._queue

    def use_core(self) -> None:
        """Write every occurrence, as core/v1 requires."""
        with self._locked():
            self._correlator.updates_every_time = True

    def succeeded(self, write: EventWrite, count: int, verb: str) -> None:
        """Record that the server stores this count of an Event."""
        with self._locked():
            self._correlator.wrote(write.record, count, self._now())
            self._queue.succeeded(write)
        self.counts.sent += 1
        self._metrics.sent(verb)

    def gave_up(self, write: EventWrite, reason: str) -> None:
        """Record that the server permanently refuses a write."""
        with self._locked():
            self._correlator.gave_up(write.record, self._now())
            self._queue.gave_up(write)
        self._count_failure(reason)

    def retry_later(self, write: EventWrite, after: float, reason: str) -> bool:
        """Record a temporary failure; return False after the last attempt."""
        with self._locked():
            now = self._now()
            has_retry = self._queue.retry_later(write, now, self._random, after=after)
            if not has_retry:
                self._correlator.gave_up(write.record, now)
        if not has_retry:
            self._count_failure(reason)
        return has_retry

    def rename(self, write: EventWrite) -> None:
        """Rename a new Event whose name is taken."""
        with self._locked():
            record = write.record
            record.name = self._name(record.first)

    def put_back(self, write: EventWrite) -> None:
        """Return a taken write to the queue."""
        with self._locked():
            self._queue.put_back(write)

    def abandon(self) -> int:
        """Count all remaining Events as failed; return their number."""
        left = len(self)
        if left:
            self.counts.failed += left
            self._metrics.failed("Closed", left)
        return left

    def _count_failure(self, reason: str) -> None:
        self.counts.failed += 1
        self._metrics.failed(reason)

    def _now(self) -> float:
        assert self._monotonic is not None
        return self._monotonic()

    @contextmanager
    def _locked(self) -> Generator[None]:
        """Hold the lock, on the loop; then drain the inbox, because others could not get the lock."""
        with self._lock:
            yield
        self._share()

    def _share(self) -> None:
        """Drain the inbox unless another thread is draining; that thread re-checks after releasing the lock."""
        while self._inbox and self._monotonic is not None and self._lock.acquire(blocking=False):
            try:
                remaining = self._observe(_MAX_SHARE)
            finally:
                self._lock.release()
            if remaining:  # this thread has done its share for others; the sender does the rest
                self._wake()
                return

    def _observe(self, limit: int | None) -> int:
        """Correlate occurrences under the lock; return the number of remaining ones."""
        # Without a clock before the start: the inbox keeps them until then.
        if self._monotonic is None:
            return 0
        now = self._monotonic()
        has_writes = False
        inbox, done = self._inbox, 0
        while inbox and (limit is None or done < limit):
            done += 1
            try:
                has_writes |= self._observe_one(inbox.popleft(), now)
            except Exception:  # noqa: BLE001 - a defect here must not reach the caller of record, who may be another
                self.counts.failed += 1
                _log.exception("an Event could not be correlated, and is lost")
        if has_writes:
            self._wake()
        return len(inbox)

    def _observe_one(self, occurrence: Occurrence, now: float) -> bool:
        """Correlate one occurrence; return whether it causes a write."""
        counts = self.counts
        seen = self._correlator.observe(occurrence, now, self._name(occurrence))
        counts.recorded += 1
        # An evicted record leaves the correlator's memory; its count would be lost without a write.
        if seen.evicted is not None:
            # Unbounded: the count of an Event must not be lost to newer Events.
            self._queue.add(seen.evicted, is_bounded=False)
        if seen.is_filtered:
            counts.filtered += 1
            self._metrics.filtered()
        if not seen.is_granted:
            return seen.evicted is not None
        if not self._queue.add(seen.record):
            self._correlator.gave_up(seen.record, now)
            self._drop(occurrence)
            return False
        return True

    def _drop(self, occurrence: Occurrence) -> None:
        with self._drops:
            is_first, self._has_dropped = not self._has_dropped, True
            self.counts.dropped += 1
        self._metrics.dropped()
        if is_first:
            regarding = occurrence.regarding
            _log.warning(
                "an Event about %s %s/%s is dropped, because %s; further ones are counted and not logged",
                regarding.kind,
                regarding.namespace,
                regarding.name,
                "the recorder has stopped" if self._is_closed else f"{len(self)} wait already",
            )

    def _name(self, occurrence: Occurrence) -> str:
        # Python's clock has microseconds. A random offset below distinguishes recorders, and an increment the Events
        # of one.
        nanos = (occurrence.at - _EPOCH) // _MICROSECOND * 1000 + self._offset
        self._last_nanos = nanos = max(nanos, self._last_nanos + 1)
        return event_name(occurrence.regarding.name, nanos)
