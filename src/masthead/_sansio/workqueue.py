"""The state of a work queue: ready, delayed and processed keys.

::

                 add_after                        due
      (absent) ──────────> delayed ──────────────────────┐
         │ ^                  │ add                      v
         │ │                  └───────────────────────> ready ──take──> processing ──┐
         │ │                                             ^                  │        │ add, or a delay that ends
         │ └──────────────── done ──────────────────────────────────────────┘        v
         └───────────────────add────────────────────────>└─────────── done ── processing, dirty

A key is in the queue at most once: ready, delayed, or dirty, which means that it becomes ready again when its
processing is done. A key is never handed out while it is processed, so that two workers never have the same key. Adding
a queued key merges the two requests: the earlier time and the higher priority win.

differs from client-go: there, a delayed add stays pending after an immediate one, and runs the key once more later.
Here the immediate add replaces it: the worker sees the newest state and chooses the next delay itself, and a retry with
backoff does not follow a success.
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["LOW_PRIORITY", "OLDEST_EVERY", "WorkQueueState"]

K = TypeVar("K", bound="Hashable")

LOW_PRIORITY: Final = -100
"""The priority of initial objects and resyncs, which wait for real changes."""
OLDEST_EVERY: Final = 8
"""While keys of several priorities are ready, every so many takes, the key with the longest wait is taken."""

_STALE_ENTRIES: Final = 64
"""Outdated entries of the heap of delays, in addition to the number of delayed keys, before it is rebuilt."""


@set_module("masthead.workqueue")
class WorkQueueState(Generic[K]):
    """A deduplicating queue of keys with priorities and delays.

    Order: the highest priority first, first in, first out within a priority. *Ageing*: while keys of several priorities
    are ready, every `oldest_every`-th key that is taken is the oldest of the first keys of all priorities, whatever its
    own. So a key that becomes ready, or is given a higher priority, when ``n`` others wait is taken before
    ``oldest_every * (n + 1)`` others are, however many of higher priority are added later.

    Adding and taking is O(1) if all keys have the default priority, and O(number of priorities in use) otherwise. A
    delay costs O(log delayed).

    Attributes:
        adds: The number of keys that have become ready or dirty so far.
        ready_since: The time at which the last taken key was added.
        choose: Chooses one of a number of ready keys with equal priority, by its place; None for the first. The ageing
            holds all the same: every `oldest_every`-th key that is taken is the oldest.

    Args:
        oldest_every: The ageing period while keys of several priorities are ready.

    Raises:
        ArgumentError: If `oldest_every` is less than 2.
    """

    def __init__(self, oldest_every: int = OLDEST_EVERY) -> None:
        if oldest_every < 2:
            raise ArgumentError(f"oldest_every must be at least 2: {oldest_every}", value=oldest_every)
        self._oldest_every = oldest_every
        self._turn = 0
        self.choose: Callable[[int], int] | None = None
        # Ready keys with the time of their addition: priority 0, and the others by priority. Not plain dicts, which
        # find the first key by stepping over all removed ones.
        self._normal: OrderedDict[K, float] = OrderedDict()
        self._lanes: dict[int, OrderedDict[K, float]] = {}
        self._processing: dict[K, float] = {}
        self._taken_with: dict[K, int] = {}  # the priorities of keys in processing, if they are not 0
        self._dirty: dict[K, tuple[float, int]] = {}
        self._delayed: dict[K, tuple[float, int, int]] = {}  # due, sequence, priority
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._is_closed = False
        self.adds: int = 0
        self.ready_since: float = 0.0

    def add(self, key: K, now: float, priority: int = 0) -> bool:
        """Make a key ready, or dirty if it is being processed; a no-op once the queue is closed.

        Returns:
            Whether a key has become ready, so that the caller wakes a worker.

        Raises:
            ArgumentError: If the key is None.
        """
        if self._is_closed:
            return False
        # The cheap checks come first: most queues have no delayed keys and a single priority.
        if self._delayed:
            priority = self._undelay(key, priority)
        if self._processing and key in self._processing:
            self._mark_dirty(key, now, priority)
            return False
        if key in self._normal:
            if priority > 0:
                self._put(key, self._normal.pop(key), priority)
            return False
        if self._lanes and (before := self._lane_of(key)):
            if priority > before:
                self._put(key, self._remove(key, before), priority)
            return False
        if key is None:
            raise ArgumentError("the key of a work queue must not be None", value=key)
        self.adds += 1
        if priority:
            self._put(key, now, priority)
        else:
            self._normal[key] = now
        return True

    def add_after(self, key: K, delay: float, now: float, priority: int = 0) -> bool:
        """Make a key ready after a delay; a no-op once the queue is closed.

        Of several delays of a key, the earliest end wins. A ready or dirty key stays ready or dirty.

        Returns:
            Whether a key has become ready, or `next_time` is earlier than before.

        Raises:
            ArgumentError: If the key is None, or the delay is not finite.
        """
        if not isfinite(delay):
            raise ArgumentError(f"{key!r} cannot be added after {delay} s", value=delay)
        if delay <= 0 or key is None:
            return self.add(key, now, priority)
        if self._is_closed:
            return False
        if key in self._normal or self._lane_of(key) or key in self._dirty:
            # The key is queued already, and earlier than the delay; this merges the priorities.
            return self.add(key, now, priority)
        due, delayed = now + delay, self._delayed.get(key)
        if delayed is not None:
            priority = max(priority, delayed[2])
            if delayed[0] <= due:
                self._delayed[key] = delayed[0], delayed[1], priority
                return False
        self._sequence = sequence = self._sequence + 1
        self._delayed[key] = due, sequence, priority
        heappush(self._heap, (due, sequence, key))
        self._compact()
        return self._heap[0][1] == sequence

    def take(self, now: float) -> K | None:
        """Hand out the next key for processing; None if no key is ready."""
        if self._delayed and self._heap[0][0] <= now:
            self.promote(now)
        if self._lanes:
            key = self._take_by_priority()
        elif self._normal:
            key = self._take_from(self._normal, is_oldest=self.choose is None or self._is_oldest_due())
        else:
            return None
        self._processing[key] = now
        return key

    def done(self, key: K) -> bool:
        """End the processing of a key. A dirty one becomes ready.

        Returns:
            Whether a key has become ready, so that the caller wakes a worker.

        Raises:
            ArgumentError: If the key is not being processed.
        """
        if key not in self._processing:
            raise ArgumentError(
                f"{key!r} is not being processed; done() is called once for each key that was taken",
                value=key,
            )
        del self._processing[key]
        if self._taken_with:
            self._taken_with.pop(key, None)
        if self._dirty and key in self._dirty:
            since, priority = self._dirty.pop(key)
            self._put(key, since, priority)
            return True
        return False

    def promote(self, now: float) -> int:
        """Make keys ready whose delay has ended; a key in processing becomes dirty.

        Returns:
            The number of keys that have become ready.
        """
        heap, promoted = self._heap, 0
        while heap and heap[0][0] <= now:
            _, sequence, key = heappop(heap)
            delayed = self._delayed.get(key)
            # Another sequence: the key was added or delayed again since, and this entry is outdated.
            if delayed is not None and delayed[1] == sequence:
                promoted += self.add(key, now, delayed[2])
        return promoted

    def next_time(self) -> float | None:
        """The end of the next delay; None if no key is delayed."""
        heap = self._heap
        while heap:
            due, sequence, key = heap[0]
            delayed = self._delayed.get(key)
            if delayed is not None and delayed[1] == sequence:
                return due
            heappop(heap)
        return None

    def discard(self, key: K) -> bool:
        """Drop a ready, delayed or dirty key. Its current processing continues.

        Returns:
            Whether anything was dropped.
        """
        if key in self._normal:
            del self._normal[key]
        elif priority := self._lane_of(key):
            self._remove(key, priority)
        elif key in self._dirty:
            del self._dirty[key]
        elif key in self._delayed:
            del self._delayed[key]
            self._compact()
        else:
            return False
        return True

    def clear(self) -> int:
        """Drop all ready, delayed and dirty keys; return their number. Current processing continues."""
        dropped = self.waiting + len(self._delayed)
        for keys in (self._normal, self._lanes, self._dirty, self._delayed, self._heap):
            keys.clear()
        return dropped

    def close(self) -> None:
        """Accept no more keys, and drop the delayed ones. Ready and dirty keys are still handed out."""
        # Delayed keys would keep the workers of a closed queue waiting.
        self._is_closed = True
        self._delayed.clear()
        self._heap.clear()

    def rebase(self, offset: float) -> None:
        """Shift all times, for a clock with another zero."""
        for lane in (self._normal, *self._lanes.values(), self._processing):
            for key in lane:
                lane[key] += offset
        self._dirty = {key: (since + offset, priority) for key, (since, priority) in self._dirty.items()}
        self._delayed = {
            key: (due + offset, sequence, priority) for key, (due, sequence, priority) in self._delayed.items()
        }
        self._rebuild_heap()

    def __len__(self) -> int:
        """The number of ready keys. A delayed key counts after its delay and a call of `promote` or `take`."""
        return len(self._normal) + sum(map(len, self._lanes.values()))

    @property
    def is_closed(self) -> bool:
        """Whether no more keys are accepted."""
        return self._is_closed

    @property
    def is_idle(self) -> bool:
        """Whether no key is ready, dirty or being processed. Keys may be delayed."""
        # A dirty key is in processing, too.
        return not (self._normal or self._lanes or self._processing)

    @property
    def has_more(self) -> bool:
        """Whether a key is ready or delayed."""
        return bool(self._normal or self._lanes or self._delayed)

    @property
    def is_exhausted(self) -> bool:
        """Whether the queue is closed, and no key is ready or dirty."""
        return self._is_closed and not (self._normal or self._lanes or self._dirty)

    @property
    def delayed(self) -> int:
        """The number of delayed keys."""
        return len(self._delayed)

    def delays(self, now: float) -> dict[K, float]:
        """The delayed keys, and their remaining seconds."""
        return {key: due - now for key, (due, _, _) in self._delayed.items()}

    @property
    def waiting(self) -> int:
        """The number of ready and dirty keys."""
        return len(self) + len(self._dirty)

    @property
    def in_flight(self) -> dict[K, float]:
        """The keys in processing, and the time of their take; do not change it."""
        return self._processing

    @property
    def oldest(self) -> tuple[K, float] | None:
        """The oldest of the first ready keys of all priorities, and its time; None if no key is ready."""
        lanes = [lane for lane in (self._normal, *self._lanes.values()) if lane]
        if not lanes:
            return None
        lane = min(lanes, key=_since)
        return next(iter(lane.items()))

    def count_by_priority(self) -> dict[int, int]:
        """The number of ready keys by priority, the highest first."""
        counts = {priority: len(lane) for priority, lane in self._lanes.items()}
        if self._normal:
            counts[0] = len(self._normal)
        return dict(sorted(counts.items(), reverse=True))

    def priority_of(self, key: K) -> int:
        """The priority of a key in processing at its take; otherwise 0."""
        return self._taken_with.get(key, 0)

    def _undelay(self, key: K, priority: int) -> int:
        """Drop the delay of an added key; return the higher priority."""
        delayed = self._delayed.pop(key, None)
        if delayed is None:
            return priority
        self._compact()
        return max(priority, delayed[2])

    def _compact(self) -> None:
        """Drop outdated entries of the heap."""
        # Rarely: a rebuild is linear, and must be paid for by as many changes.
        if len(self._heap) > 2 * len(self._delayed) + _STALE_ENTRIES:
            self._rebuild_heap()

    def _rebuild_heap(self) -> None:
        self._heap[:] = [(due, sequence, key) for key, (due, sequence, _) in self._delayed.items()]
        heapify(self._heap)

    def _mark_dirty(self, key: K, now: float, priority: int) -> None:
        dirty = self._dirty.get(key)
        if dirty is None:
            self.adds += 1
            self._dirty[key] = now, priority
        elif priority > dirty[1]:
            self._dirty[key] = dirty[0], priority

    def _put(self, key: K, since: float, priority: int) -> None:
        """Append a key to the lane of its priority."""
        if not priority:
            self._normal[key] = since
            return
        self._lanes.setdefault(priority, OrderedDict())[key] = since

    def _lane_of(self, key: K) -> int:
        """The priority of a ready key other than 0; otherwise 0."""
        for priority, lane in self._lanes.items():
            if key in lane:
                return priority
        return 0

    def _remove(self, key: K, priority: int) -> float:
        """Remove a ready key of another priority than 0; return the time of its addition."""
        lane = self._lanes[priority]
        since = lane.pop(key)
        if not lane:
            del self._lanes[priority]
        return since

    def _take_by_priority(self) -> K:
        """Remove the next ready key, if at least one has another priority than 0."""
        priority, is_oldest = self._next_priority()
        if not priority:
            return self._take_from(self._normal, is_oldest=is_oldest)
        lane = self._lanes[priority]
        key = self._take_from(lane, is_oldest=is_oldest)
        if not lane:
            del self._lanes[priority]
        self._taken_with[key] = priority
        return key

    def _take_from(self, lane: OrderedDict[K, float], *, is_oldest: bool) -> K:
        """Remove the first key of a lane, or the chosen one."""
        if is_oldest or self.choose is None or len(lane) == 1:
            key, self.ready_since = lane.popitem(last=False)
            return key
        key = next(islice(lane, self.choose(len(lane)), None))
        self.ready_since = lane.pop(key)
        return key

    def _next_priority(self) -> tuple[int, bool]:
        """The priority of the next take: the highest, or periodically that of the oldest key; and whether it is that.

        The first key of the lane is its oldest.
        """
        highest = max(self._lanes)
        if self._normal:
            highest = max(highest, 0)
        elif len(self._lanes) == 1:
            return highest, self.choose is None or self._is_oldest_due()
        if not self._is_oldest_due():
            return highest, False
        ages = [(_since(lane), priority) for priority, lane in self._lanes.items()]
        if self._normal:
            ages.append((_since(self._normal), 0))
        return min(ages)[1], True

    def _is_oldest_due(self) -> bool:
        """Count a take while several keys compete; return whether the oldest is due."""
        self._turn += 1
        if self._turn < self._oldest_every:
            return False
        self._turn = 0
        return True


def _since(lane: OrderedDict[K, float]) -> float:
    """The time of the first key."""
    return lane[next(iter(lane))]
