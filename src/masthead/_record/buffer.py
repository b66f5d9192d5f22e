"""What is recorded and not yet written: accepts occurrences from any thread, and hands out writes to the sender.

::

    record(), any thread ──> inbox ──whoever gets the lock──> correlator ──> queue of writes ──> sender, on the loop

Nobody waits for the lock in ``record``: a thread that does not get it leaves its occurrence in the inbox, to the one that
has it, which looks into the inbox after it has let go of the lock. So ``record`` may be called from a signal handler or a
finalizer, in the middle of another call.
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

_SHARE: Final = 64
"""How many occurrences one call of ``record`` correlates at most, its own and those of other threads."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


@set_module("masthead.record")
@dataclass(slots=True)
class EventCounts:
    """What a recorder has done so far.

    Attributes:
        recorded: The occurrences that were recorded.
        filtered: Those that the spam filter has kept from being written at once.
        dropped: Those that were dropped, because too many Events waited, or the recorder has stopped.
        sent: The writes that have succeeded.
        failed: The writes that were given up.
        pending: The Events that wait to be written.
    """

    recorded: int = 0
    filtered: int = 0
    dropped: int = 0
    sent: int = 0
    failed: int = 0
    pending: int = 0


class EventBuffer:
    """Occurrences, records and writes of one recorder.

    Threads: `offer` may be called from any thread, all else on the sender's loop only.

    Args:
        limit: How many Events may wait.
        options: The limits of correlation.
        metrics: What is counted.
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
        self._offset = int(random() * 1000)
        self._has_dropped = False
        self._drops = threading.RLock()  # reentrant: a signal handler may drop while a thread does
        self.counts: EventCounts = EventCounts()

    def __len__(self) -> int:
        return len(self._queue) + len(self._inbox)

    def open(self, monotonic: Callable[[], float], wake: Callable[[], object]) -> None:
        """Begin: from now on there is a clock, and a sender to wake."""
        self._monotonic, self._wake = monotonic, wake
        wake()

    def close(self) -> None:
        """Accept no more."""
        self._is_closed = True

    def offer(self, occurrence: Occurrence) -> bool:
        """Take an occurrence; return False if it is dropped."""
        if self._is_closed or len(self._inbox) >= self._limit:
            self._drop(occurrence)
            return False
        self._inbox.append(occurrence)
        self._share()
        return True

    def turn(self) -> tuple[list[EventWrite], float | None]:
        """Take the writes to send now; and the seconds after which there may be more, None for no such time."""
        now = self._now()
        with self._locked():
            rest = self._observe(_SHARE)
            for record in self._correlator.due(now):
                self._queue.add(record, is_bounded=False)
            writes: list[EventWrite] = []
            while (write := self._queue.take(now)) is not None:
                writes.append(write)
            times = [each for each in (self._queue.wake_at(now), self._correlator.next_due()) if each is not None]
        self._metrics.pending(len(self))
        if rest:
            return writes, 0.0
        return writes, max(0.0, min(times) - now) if times else None

    def catch_up(self) -> tuple[set[EventRecord], int]:
        """Ask for the write of everything that was recorded; return the records, and the number of the last write."""
        with self._locked():
            self._observe(None)
            for record in self._correlator.behind():
                self._queue.add(record, is_bounded=False)
            waiting = self._queue.records()
            for record in waiting:
                # Its next write has all of it, unless that only finds out that an earlier one was carried out.
                record.wanted = record.count
            return waiting, self._queue.serial

    def hurry(self) -> None:
        """Give every write one last attempt, without a pause."""
        with self._locked():
            self._queue.hurry()

    def is_waiting(self, record: EventRecord) -> bool:
        """Whether a record is still to be written."""
        return record in self._queue

    def use_core(self) -> None:
        """Write every occurrence, as core/v1 wants it."""
        with self._locked():
            self._correlator.updates_every_time = True

    def succeeded(self, write: EventWrite, count: int, verb: str) -> None:
        """Note that the server has an Event with this count."""
        with self._locked():
            self._correlator.wrote(write.record, count, self._now())
            self._queue.succeeded(write)
        self.counts.sent += 1
        self._metrics.sent(verb)

    def gave_up(self, write: EventWrite, reason: str) -> None:
        """Note that the server refuses a write for good."""
        with self._locked():
            self._correlator.gave_up(write.record, self._now())
            self._queue.gave_up(write)
        self._count_failure(reason)

    def retry_later(self, write: EventWrite, after: float, reason: str) -> bool:
        """Note a temporary failure; return False if it was the last attempt."""
        with self._locked():
            now = self._now()
            is_kept = self._queue.retry_later(write, now, self._random, after=after)
            if not is_kept:
                self._correlator.gave_up(write.record, now)
        if not is_kept:
            self._count_failure(reason)
        return is_kept

    def rename(self, write: EventWrite) -> None:
        """Give an Event that the server does not have another name, because its own is taken."""
        with self._locked():
            record = write.record
            record.name = self._name(record.first)

    def put_back(self, write: EventWrite) -> None:
        """Undo the taking of a write."""
        with self._locked():
            self._queue.put_back(write)

    def abandon(self) -> int:
        """Count whatever is left as failed; return its number."""
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
        """Take the lock, on the loop; then correlate what was left in the inbox meanwhile, because it was not free."""
        with self._lock:
            yield
        self._share()

    def _share(self) -> None:
        """Correlate what is in the inbox, unless somebody does; that one looks again after it has let go of the lock."""
        while self._inbox and self._monotonic is not None and self._lock.acquire(blocking=False):
            try:
                rest = self._observe(_SHARE)
            finally:
                self._lock.release()
            if rest:  # this thread has done enough for others: the sender goes on
                self._wake()
                return

    def _observe(self, limit: int | None) -> int:
        """Correlate occurrences, with the lock in hand; return how many are left."""
        if self._monotonic is None:
            return 0
        now = self._monotonic()
        is_any = False
        inbox, done = self._inbox, 0
        while inbox and (limit is None or done < limit):
            done += 1
            try:
                is_any |= self._observe_one(inbox.popleft(), now)
            except Exception:  # noqa: BLE001 - of a defect here, another caller of record must not hear
                self.counts.failed += 1
                _log.exception("an Event could not be correlated, and is lost")
        if is_any:
            self._wake()
        return len(inbox)

    def _observe_one(self, occurrence: Occurrence, now: float) -> bool:
        """Correlate one occurrence; return whether there is something to write."""
        counts = self.counts
        seen = self._correlator.observe(occurrence, now, self._name(occurrence))
        counts.recorded += 1
        if seen.evicted is not None:
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
        # Python's clock has microseconds: the rest tells recorders apart, and no two Events of one recorder are equal.
        nanos = (occurrence.at - _EPOCH) // _MICROSECOND * 1000 + self._offset
        self._last_nanos = nanos = max(nanos, self._last_nanos + 1)
        return event_name(occurrence.regarding.name, nanos)
