"""The notification buffer of a handler.

A handler that keeps up receives every notification. For a slow handler, the buffer merges notifications by key, so that
it neither fills the memory nor delays others::

                      more than limit
          QUEUEING ──────────────────────> FOLDING
     every notification, in order                one entry per key, at the position of its first notification
             ^                                 │
             └───────────────empty─────────────┘

How FOLDING merges a notification into the pending ones of its key:

| pending | then ADD or UPDATE | then DELETE |
|---|---|---|
| none | the notification | the notification |
| ADD | ADD of the newest state, with the first `is_initial` | none: the handler never received the object |
| UPDATE from *o* | UPDATE from *o* to the newest state | UPDATE, DELETE |
| ..., DELETE | ..., DELETE, the notification | ..., the first DELETE |
| ..., DELETE, ADD | ..., DELETE, ADD of the newest state | ..., the first DELETE |

So at most three notifications per key are pending, only for keys that the handler or the store has, and a handler that
replays them ends in the same state as one that received everything. An UPDATE stays before its DELETE: a filter must
see that an object no longer passes, or it would drop the delete. The order of a key's notifications is preserved.
Between keys it is not: a merged notification takes the position of the key's first one. That is never later, so that a
SYNC_MARKER, whose position is fixed, still follows everything pushed before it.
differs from client-go: there, the
buffer grows without a bound.

Not thread-safe: the caller lets one thread at a time use the buffer.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar, cast

import msgspec

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["LIMIT", "HandlerBuffer", "Notification", "NotificationType"]

V = TypeVar("V")

LIMIT: Final = 1000
"""Notifications buffered before they are merged by key."""


class NotificationType(Enum):
    """The types of notifications."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    SYNC_MARKER = "mark"
    """No event: everything pushed before it, such as the initial adds, has been processed."""


class Notification(msgspec.Struct, Generic[V], frozen=True, gc=False):
    """One event for a handler.

    The garbage collector does not track it: it is part of no reference cycle, and a collection over 200,000 of them
    takes 40 ms. Its repr leaves out the values, which may be Secrets.

    Attributes:
        type: The type of the event.
        key: The object's key; empty for a SYNC_MARKER.
        old: The old state: for an UPDATE the last delivered one, for a DELETE the last known one.
        new: The new state of an ADD or UPDATE.
        is_initial: Whether an ADD belongs to the initial objects of the handler.
        final_state_known: Whether the ``old`` of a DELETE is the final state.
    """

    type: NotificationType
    key: str = ""
    old: V | None = None
    new: V | None = None
    is_initial: bool = False
    final_state_known: bool = True

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """All fields but the values, for terminals."""
        return [
            ("type", self.type.name),
            ("key", self.key),
            ("is_initial", self.is_initial),
            ("final_state_known", self.final_state_known),
        ]

    def __repr__(self) -> str:
        return f"Notification({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


_Entry: TypeAlias = Notification[V] | tuple[Notification[V], ...]
"""A SYNC_MARKER, or up to three notifications of a key; a single one without a tuple.

The garbage collector would traverse a tuple per object, which takes longer than all other work.
"""

_Entries: TypeAlias = dict[str | int, _Entry[V]]
"""Entries by key; markers, which have none, by number."""


class HandlerBuffer(Generic[V]):
    """The pending notifications of one handler, merged by key above a limit.

    Its length is the number of pending notifications.

    Args:
        limit: The number of notifications that are not merged.

    Attributes:
        folded: The number of notifications saved by merging so far.

    Raises:
        ArgumentError: If the limit is negative.
    """

    __slots__ = (
        "_back",
        "_front",
        "_initial",
        "_initial_keys",
        "_limit",
        "_markers",
        "_pending",
        "_queue",
        "folded",
    )

    def __init__(self, limit: int = LIMIT) -> None:
        if limit < 0:
            raise ArgumentError(f"a buffer cannot keep {limit} notifications; give 0 or more", value=limit)
        self._limit = limit
        self._queue: deque[Notification[V]] = deque()
        # A dict finds its last item in constant time, but its first item ever more slowly as first items are removed.
        # So the entries are in two dicts: the front ones in reverse order, with the first at the end, then the others.
        self._front: _Entries[V] = {}
        self._back: _Entries[V] = {}
        # The initial objects of a handler that joined late. Notifications are created as they are taken, because
        # creating 200,000 of them in one step blocks the event loop.
        self._initial: dict[str, V] = {}
        self._initial_keys: Iterator[str] = iter(())
        self._pending = 0
        """The number of notifications in all entries."""
        self._markers = 0
        self.folded = 0

    @property
    def is_folding(self) -> bool:
        """Whether notifications are merged by key, until all pending ones have been taken."""
        return bool(self._pending)

    def __len__(self) -> int:
        return self._pending or len(self._queue)

    def push(self, notification: Notification[V]) -> None:
        """Append a notification."""
        # While merged ones are pending, a later one must be merged, too, or it would overtake them.
        if self._pending:
            self._fold(notification)
            return
        self._queue.append(notification)
        if len(self._queue) > self._limit:
            self._begin_folding()

    def extend(self, notifications: Iterable[Notification[V]]) -> None:
        """Append notifications in order."""
        if self._pending:
            for notification in notifications:
                self._fold(notification)
            return
        self._queue.extend(notifications)
        if len(self._queue) > self._limit:
            self._begin_folding()

    def begin_with(self, items: dict[str, V]) -> None:
        """Append existing objects as initial adds; the buffer must be empty.

        Args:
            items: The objects by key. The buffer takes over the dict, and changes it.
        """
        if len(items) <= self._limit:
            add = NotificationType.ADD
            self._queue.extend([Notification(add, key, None, value, True) for key, value in items.items()])
            return
        # The keys are copied: the dict shrinks while they are taken.
        self._initial, self._initial_keys, self._pending = items, iter(list(items)), len(items)

    def take(self, limit: int = 100) -> list[Notification[V]]:
        """Remove and return the next notifications, at most `limit`."""
        if self._pending:
            return self._take_folded(limit)
        queue = self._queue
        return [queue.popleft() for _ in range(min(limit, len(queue)))]

    def clear(self) -> None:
        """Drop all pending notifications."""
        self._queue.clear()
        self._initial = {}
        self._initial_keys = iter(())
        self._front.clear()
        self._back.clear()
        self._pending = 0

    def _begin_folding(self) -> None:
        queue, self._queue = self._queue, deque()
        # A full list has each key once, so that there is nothing to merge: 200,000 notifications in a tenth of the
        # time.
        front: _Entries[V] = {notification.key: notification for notification in reversed(queue)}
        if len(front) == len(queue) and "" not in front:  # the key of markers
            self._front, self._pending = front, len(front)
            return
        for notification in queue:
            self._fold(notification)

    def _fold(self, notification: Notification[V]) -> None:
        position: str | int = notification.key
        if position in self._initial:
            self._fold_initial(notification)
            return
        if notification.type is NotificationType.SYNC_MARKER:
            # Each marker has its own entry, so that none is merged into another.
            position = self._markers = self._markers + 1
        # A pending key keeps its position.
        entries = self._front if position in self._front else self._back
        entry = entries.get(position, ())
        before = entry if isinstance(entry, tuple) else (entry,)
        after = _merge(before, notification)
        if after:
            entries[position] = after[0] if len(after) == 1 else after
        else:
            # Added and deleted before the handler was notified.
            del entries[position]
        self._pending += len(after) - len(before)
        self.folded += len(before) + 1 - len(after)

    def _fold_initial(self, notification: Notification[V]) -> None:
        """Merge a notification into an initial object, as into a pending ADD."""
        key = notification.key
        if notification.type is NotificationType.DELETE:
            del self._initial[key]
            self._pending -= 1
            self.folded += 2
        else:
            self._initial[key] = cast("V", notification.new)
            self.folded += 1

    def _take_initial(self, limit: int) -> list[Notification[V]]:
        initial, add = self._initial, NotificationType.ADD
        taken: list[Notification[V]] = []
        while initial and len(taken) < limit:
            key = next(self._initial_keys)
            if key in initial:  # it may have been deleted in the meantime
                taken.append(Notification(add, key, None, initial.pop(key), True))
        return taken

    def _take_folded(self, limit: int) -> list[Notification[V]]:
        taken = self._take_initial(limit) if self._initial else []
        while len(taken) < limit and (self._front or self._back):
            if not self._front:
                # popitem() takes from the end, in constant time; hence the reversed order.
                self._front, self._back = dict(reversed(self._back.items())), {}
            position, entry = self._front.popitem()
            if not isinstance(entry, tuple):
                taken.append(entry)
                continue
            space = limit - len(taken)
            taken.extend(entry[:space])
            if remainder := entry[space:]:
                # Put back at the end, where the next call takes it first.
                self._front[position] = remainder
        self._pending -= len(taken)
        return taken


def _merge(pending: tuple[Notification[V], ...], notification: Notification[V]) -> tuple[Notification[V], ...]:
    """Merge a notification into the pending ones of its key, as in the table above."""
    if not pending:
        return (notification,)
    *others, last = pending
    if last.type is NotificationType.DELETE:
        return pending if notification.type is NotificationType.DELETE else (*pending, notification)
    if notification.type is not NotificationType.DELETE:
        return (*others, Notification(last.type, last.key, last.old, notification.new, last.is_initial))
    # After a DELETE, or as an ADD, the handler has never received the object.
    return tuple(others) if others or last.type is NotificationType.ADD else (last, notification)
