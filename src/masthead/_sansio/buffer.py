"""The buffer of notifications in front of a handler.

A handler that keeps up receives everything. One that does not must not fill the memory, nor slow others down: it gets
less then, but never anything else than the truth::

                      more than limit
          KEEPING ───────────────────────> FOLDING
     every notification, in order                one place per key, where the key first came
             ^                                 │
             └────────────empty again──────────┘

How a notification joins what waits for its key, in FOLDING:

| waiting | then ADD or UPDATE | then DELETE |
|---|---|---|
| nothing | it | it |
| ADD | ADD of the newest, as initial as the first was | nothing: the handler never received it |
| UPDATE from *o* | UPDATE from *o* to the newest | UPDATE, it |
| ..., DELETE | ..., DELETE, it | ..., DELETE, the first |
| ..., DELETE, ADD | ..., DELETE, ADD of the newest | ..., DELETE, the first |

So there wait at most three notifications a key, and only for keys that the handler knows of or the store holds; and a handler
that replays what comes out has the same state as one that received everything. An UPDATE stays in front of its DELETE: a
filter must see that an object no longer passes, or would take its delete for that of an object never delivered. Per key, the
order is kept. Between keys it is not: what is new about a key comes where the key first came. It never comes later, so
that a SYNC_MARKER, which keeps its place, still stands behind all that was pushed before it.
differs from client-go: there, the buffer grows without a bound.

Not for several threads: who has some must see to it that one at a time uses the buffer.
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
"""How many notifications are kept, each by itself, for a handler that does not keep up."""


class NotificationType(Enum):
    """The kinds of notifications."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    SYNC_MARKER = "mark"
    """No event: everything that was pushed before, such as the initial adds, has been processed."""


class Notification(msgspec.Struct, Generic[V], frozen=True, gc=False):
    """One event for a handler.

    The garbage collector does not track it: nothing that it holds leads back to it, and a collection that looks at 200,000
    of them takes 40 ms. Its repr leaves the values out, which may be Secrets.

    Attributes:
        type: What it is.
        key: Of which object; empty for a SYNC_MARKER.
        old: The old state: for an UPDATE the one delivered last, for a DELETE the last that is known.
        new: What it is: for an ADD and an UPDATE.
        is_initial: Whether an ADD is part of the state that the handler begins with.
        final_state_known: Whether the ``old`` of a DELETE is what the object was in the end.
    """

    type: NotificationType
    key: str = ""
    old: V | None = None
    new: V | None = None
    is_initial: bool = False
    final_state_known: bool = True

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """All but the values, for terminals."""
        return [
            ("type", self.type.name),
            ("key", self.key),
            ("is_initial", self.is_initial),
            ("final_state_known", self.final_state_known),
        ]

    def __repr__(self) -> str:
        return f"Notification({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


_Waiting: TypeAlias = Notification[V] | tuple[Notification[V], ...]
"""What waits in one place: a SYNC_MARKER, or up to three notifications about a key; without a tuple where there is only one.

A tuple for each of many objects would make the garbage collector look at all of them, which takes longer than the rest.
"""

_Places: TypeAlias = dict[str | int, _Waiting[V]]
"""What waits, by key; marks, which have none, by number."""


class HandlerBuffer(Generic[V]):
    """The notifications that wait for one handler: all of them, or, once they are too many, what they come to.

    Its length is the number of notifications that wait.

    Args:
        limit: Up to so many are kept as they came.

    Attributes:
        folded: How many notifications were folded away, in all.

    Raises:
        ArgumentError: If the limit is negative.
    """

    __slots__ = (
        "_back",
        "_front",
        "_initial",
        "_initial_keys",
        "_kept",
        "_limit",
        "_marks",
        "_waiting",
        "folded",
    )

    def __init__(self, limit: int = LIMIT) -> None:
        if limit < 0:
            raise ArgumentError(f"a buffer cannot keep {limit} notifications; give 0 or more", value=limit)
        self._limit = limit
        self._kept: deque[Notification[V]] = deque()
        # A dict finds its last item at once, but its first ever later as the first is removed again and again. So the
        # places are in two: those in front the wrong way round, with the first at the end, and behind them the rest.
        self._front: _Places[V] = {}
        self._back: _Places[V] = {}
        # The initial state of a handler that joined late: notifications are made of it as they are taken, because
        # making 200,000 of them at once takes too long.
        self._initial: dict[str, V] = {}
        self._initial_keys: Iterator[str] = iter(())
        self._waiting = 0
        """How many notifications there are in all places."""
        self._marks = 0
        self.folded = 0

    @property
    def is_folding(self) -> bool:
        """Whether notifications are folded by key, until all that wait have been taken."""
        return bool(self._waiting)

    def __len__(self) -> int:
        return self._waiting or len(self._kept)

    def push(self, notification: Notification[V]) -> None:
        """Add a notification behind all others."""
        # While folded ones wait, a later one must be folded, too, or it would overtake them.
        if self._waiting:
            self._fold(notification)
            return
        self._kept.append(notification)
        if len(self._kept) > self._limit:
            self._begin_folding()

    def extend(self, notifications: Iterable[Notification[V]]) -> None:
        """Add notifications behind all others, in this order."""
        if self._waiting:
            for notification in notifications:
                self._fold(notification)
            return
        self._kept.extend(notifications)
        if len(self._kept) > self._limit:
            self._begin_folding()

    def begin_with(self, items: dict[str, V]) -> None:
        """Add the state that the handler begins with, as initial adds; the buffer must be empty.

        Args:
            items: The objects by key. The buffer keeps this very dict, and changes it.
        """
        if len(items) <= self._limit:
            add = NotificationType.ADD
            self._kept.extend([Notification(add, key, None, value, True) for key, value in items.items()])
            return
        self._initial, self._initial_keys, self._waiting = items, iter(list(items)), len(items)

    def take(self, limit: int = 100) -> list[Notification[V]]:
        """Remove the notifications that are next, at most so many, and return them."""
        if self._waiting:
            return self._take_folded(limit)
        kept = self._kept
        return [kept.popleft() for _ in range(min(limit, len(kept)))]

    def clear(self) -> None:
        """Forget all that waits."""
        self._kept.clear()
        self._initial = {}
        self._initial_keys = iter(())
        self._front.clear()
        self._back.clear()
        self._waiting = 0

    def _begin_folding(self) -> None:
        kept, self._kept = self._kept, deque()
        # A whole state has each key once, and there is nothing to fold: 200,000 notifications in a tenth of the time.
        front: _Places[V] = {notification.key: notification for notification in reversed(kept)}
        if len(front) == len(kept) and "" not in front:  # which is the key of marks
            self._front, self._waiting = front, len(front)
            return
        for notification in kept:
            self._fold(notification)

    def _fold(self, notification: Notification[V]) -> None:
        place: str | int = notification.key
        if place in self._initial:
            self._fold_initial(notification)
            return
        if notification.type is NotificationType.SYNC_MARKER:
            # Each marker has a place of its own, so that none is folded into another.
            place = self._marks = self._marks + 1
        # A key that waits already keeps its place in line.
        places = self._front if place in self._front else self._back
        waiting = places.get(place, ())
        before = waiting if isinstance(waiting, tuple) else (waiting,)
        after = _joined(before, notification)
        if after:
            places[place] = after[0] if len(after) == 1 else after
        else:
            # It was added and deleted before the handler learnt of it.
            del places[place]
        self._waiting += len(after) - len(before)
        self.folded += len(before) + 1 - len(after)

    def _fold_initial(self, notification: Notification[V]) -> None:
        """Change what is initially there, as an ADD that waits is changed."""
        key = notification.key
        if notification.type is NotificationType.DELETE:
            del self._initial[key]
            self._waiting -= 1
            self.folded += 2
        else:
            self._initial[key] = cast("V", notification.new)
            self.folded += 1

    def _take_initial(self, limit: int) -> list[Notification[V]]:
        initial, add = self._initial, NotificationType.ADD
        taken: list[Notification[V]] = []
        while initial and len(taken) < limit:
            key = next(self._initial_keys)
            if key in initial:  # or it was deleted meanwhile
                taken.append(Notification(add, key, None, initial.pop(key), True))
        return taken

    def _take_folded(self, limit: int) -> list[Notification[V]]:
        taken = self._take_initial(limit) if self._initial else []
        while len(taken) < limit and (self._front or self._back):
            if not self._front:
                # popitem() takes from the end, in constant time; hence the reversed order.
                self._front, self._back = dict(reversed(self._back.items())), {}
            place, waiting = self._front.popitem()
            if not isinstance(waiting, tuple):
                taken.append(waiting)
                continue
            space = limit - len(taken)
            taken.extend(waiting[:space])
            if rest := waiting[space:]:
                # Put back at the end, from where the next call takes first.
                self._front[place] = rest
        self._waiting -= len(taken)
        return taken


def _joined(waiting: tuple[Notification[V], ...], notification: Notification[V]) -> tuple[Notification[V], ...]:
    """What waits for a key once a notification has come; the table above."""
    if not waiting:
        return (notification,)
    *others, last = waiting
    if last.type is NotificationType.DELETE:
        return waiting if notification.type is NotificationType.DELETE else (*waiting, notification)
    if notification.type is not NotificationType.DELETE:
        return (*others, Notification(last.type, last.key, last.old, notification.new, last.is_initial))
    # Behind a DELETE, and as an ADD, the handler has never received it.
    return tuple(others) if others or last.type is NotificationType.ADD else (last, notification)
