"""The queue between the event loops of a program and the thread of its recorder, bounded in bytes.

::

    ADMITTING ──more than the limit, or refuse()──> REFUSING: changes are dropped and counted ──readmit()──> ADMITTING

A refused change leaves a hole, so everything after it is refused too, until the recorder has the whole state again.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, Generic, NamedTuple, TypeVar

__all__ = ["Backlog", "Taken"]

T = TypeVar("T")


class Taken(NamedTuple, Generic[T]):
    """What a recorder takes from its backlog.

    Attributes:
        items: The items with their weights, in order.
        is_closed: Whether no others will come.
    """

    items: deque[tuple[T, int]]
    is_closed: bool


class Backlog(Generic[T]):
    """Items that wait for a thread.

    Args:
        limit: The maximum weight of all waiting items.

    Attributes:
        dropped: The number of changes refused since the last `readmit`.
        is_refusing: Whether changes are refused.
    """

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._items: deque[tuple[T, int]] = deque()
        self._weight = 0
        self._condition = threading.Condition(threading.Lock())
        self._is_closed = False
        self.dropped = 0
        self.is_refusing = False

    def put(self, item: T, weight: int, changes: int = 1) -> bool:
        """Add an item, or drop it; return whether it was added. Never waits for the disk.

        Args:
            item: The item.
            weight: Its size in bytes.
            changes: The number of changes in it, to be counted if it is dropped.
        """
        with self._condition:
            if self._is_closed:
                return False
            if not self.is_refusing and self._weight + weight > self._limit:
                self.is_refusing = True
            if self.is_refusing:
                self.dropped += changes
                return False
            self._append(item, weight)
            return True

    def insert(self, item: T) -> None:
        """Add an item of the recorder itself, which has no weight, and is never refused."""
        with self._condition:
            self._append(item, 0)

    def _append(self, item: T, weight: int) -> None:
        # A thread that has items already needs no wake-up.
        is_first = not self._items
        self._items.append((item, weight))
        self._weight += weight
        if is_first:
            self._condition.notify()

    def take(self, timeout: float | None) -> Taken[T]:
        """Take all items; wait for the first one up to a time. Their weight counts until `release`."""
        with self._condition:
            if not self._items and not self._is_closed:
                self._condition.wait(timeout)
            # All of them in one step, so that writers wait for no object to be encoded.
            items, self._items = self._items, deque()
            return Taken(items, self._is_closed)

    def release(self, weight: int) -> None:
        """Note that items of a weight were written."""
        with self._condition:
            self._weight -= weight

    @property
    def is_low(self) -> bool:
        """Whether at least half of the room is free."""
        return self._weight * 2 <= self._limit

    def lose(self, changes: int) -> None:
        """Refuse changes from here on, and count others that were taken and not written."""
        with self._condition:
            self.is_refusing = True
            self.dropped += changes

    def readmit(self) -> int:
        """Admit changes again; return how many were dropped."""
        with self._condition:
            self.is_refusing = False
            dropped, self.dropped = self.dropped, 0
            return dropped

    def close(self) -> None:
        """Refuse all further items. Waiting ones can still be taken."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
