"""Changes of a resource, and the queue in which they wait.

A reflector writes to a queue, a controller pops from it and applies what comes out to a store. `Queue` is the contract.
`ChangeQueue` keeps the order in which changes came in, and a relist is one change; `masthead._sansio.deltafifo.DeltaFIFO`
gathers changes by key. Whether the whole initial state has been popped::

                replace            the first replace of every scope has been popped, and process returned
     WAITING ─────────────> FILLING ─────────────────────────────────────────────────────────────────────> SYNCED
        │                                                                                                    ^
        └──add, update, delete: the writer does not begin with a list, so nothing is waited for──────────────┘

And how it ends::

           close                                    the last change is popped
     OPEN ───────> CLOSING (takes nothing, gives) ───────────────────────────> DONE (pop raises ClosedError)

What is queued is a *held* value: an object, or whatever stands for it. A queue never looks into it.

Not for several threads: who has some must see to it that one at a time uses the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from masthead._module import set_module
from masthead._sansio.sharding import ShardRanges
from masthead.errors import ClosedError, InvalidValueError

__all__ = [
    "BATCH",
    "Bookmark",
    "Change",
    "ChangeQueue",
    "Delta",
    "DeltaType",
    "Process",
    "Queue",
    "ReplacedAll",
    "Reselected",
    "SyncAll",
]

V = TypeVar("V")

BATCH: Final = 1000
"""How many deltas are handed over at once; client-go's number."""


@set_module("masthead.cache")
class DeltaType(Enum):
    """What happened to an object."""

    ADDED = "added"
    UPDATED = "updated"
    DELETED = "deleted"
    REPLACED = "replaced"
    """Seen in a relist."""
    SYNC = "sync"
    """No change: delivered again by a resync."""


@set_module("masthead.cache")
class Delta(msgspec.Struct, Generic[V], frozen=True, gc=False):
    """One change of one object.

    Its repr leaves the value out, which may be a Secret.

    Attributes:
        type: What happened.
        key: Which object, as ``namespace/name`` or ``name``.
        value: What it is now; if it was deleted, what it was last. None only for a deleted object of which nothing is
            known.
        version: The resource version that came with the change, which for REPLACED is the list's; empty if unknown.
        final_state_known: Whether the value of a deleted object is what it was in the end. If not, the deletion was not
            seen, only its result: the object is missing from a list.
    """

    type: DeltaType
    key: str
    value: V | None
    version: str = ""
    final_state_known: bool = True

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """All but the value, for terminals."""
        return [
            ("type", self.type.name),
            ("key", self.key),
            ("version", self.version),
            ("final_state_known", self.final_state_known),
        ]

    def __repr__(self) -> str:
        return _shown(self)


@set_module("masthead.cache")
class ReplacedAll(msgspec.Struct, Generic[V], frozen=True):
    """The whole state of a scope, as it was listed.

    Attributes:
        items: What is there, by key. Keys of the scope that are missing here, and in ``kept``, are gone.
        version: The list's resource version.
        scope: What was listed: a namespace, or empty if there is only one scope.
        kept: Keys that are there too, but could not be read: what is known of them stays.
        is_initial: Whether what comes with it counts as initial: something else is selected now.
    """

    items: dict[str, V]
    version: str
    scope: str = ""
    kept: frozenset[str] = frozenset()
    is_initial: bool = False

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Numbers instead of objects, for terminals."""
        return [
            ("items", len(self.items)),
            ("version", self.version),
            ("scope", self.scope),
            ("kept", len(self.kept)),
        ]

    def __repr__(self) -> str:
        return _shown(self)


@set_module("masthead.cache")
class SyncAll(msgspec.Struct, frozen=True):
    """A resync: every object of the store is delivered again, to the handlers that are due."""


@set_module("masthead.cache")
class Reselected(msgspec.Struct, frozen=True):
    """Something else is selected: objects of other shards leave the store, and no handler is notified of that.

    Attributes:
        shards: What is selected.
        scope: Where.
    """

    shards: ShardRanges
    scope: str = ""


@set_module("masthead.cache")
class Bookmark(msgspec.Struct, frozen=True):
    """Nothing else has happened in a scope up to a version.

    Attributes:
        version: The resource version.
        scope: Where.
    """

    version: str
    scope: str = ""


def _shown(change: Delta[V] | ReplacedAll[V]) -> str:
    parts = ", ".join(f"{name}={value!r}" for name, value in change.__rich_repr__())
    return f"{type(change).__name__}({parts})"


Change: TypeAlias = Delta[V] | ReplacedAll[V] | SyncAll | Bookmark | Reselected

Process: TypeAlias = Callable[[Sequence[Change[V]], bool], object]
"""Takes changes that are to be applied, in this order, and whether they belong to the initial state."""


class Queue(Protocol[V]):
    """What a reflector writes to and a controller pops from.

    Its length is the number of changes, or groups of changes, that wait; an empty queue is false, as any collection is.
    """

    def add(self, key: str, value: V, version: str) -> None:
        """An object has been created.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def update(self, key: str, value: V, version: str) -> None:
        """An object has changed.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def delete(self, key: str, value: V | None, version: str, *, final_state_known: bool = True) -> None:
        """An object is gone.

        Args:
            key: Which.
            value: What it was last, as far as that is known.
            version: The resource version of the deletion; empty if unknown.
            final_state_known: Whether ``value`` is what it was in the end.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def replace(
        self, items: dict[str, V], version: str, *, scope: str = "", kept: frozenset[str] = frozenset()
    ) -> None:
        """A scope has been listed.

        Args:
            items: What is there, by key. The queue keeps this very dict: do not change it afterwards.
            version: The list's resource version.
            scope: What was listed.
            kept: Keys that are there but could not be read: they are not to be taken for deleted.

        Raises:
            ClosedError: If the queue is closed.
            InvalidValueError: If the queue has no such scope.
        """
        ...

    def resync(self) -> None:
        """Deliver every known object again.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def bookmark(self, version: str, *, scope: str = "") -> None:
        """A scope has no other changes up to this version.

        Raises:
            ClosedError: If the queue is closed.
            InvalidValueError: If the queue has no such scope.
        """
        ...

    def pop(self, process: Process[V]) -> bool:
        """Hand the next changes over to ``process``, and return whether there were any.

        If ``process`` raises, its error passes on, and the changes are gone all the same.

        Raises:
            ClosedError: If the queue is closed and empty.
        """
        ...

    def close(self) -> None:
        """Take nothing more. What is queued can still be popped; closing twice does no harm."""
        ...

    @property
    def has_synced(self) -> bool:
        """Whether the initial state has been popped and processed; once true, it stays so."""
        ...

    def __len__(self) -> int: ...


class ChangeQueue(Queue[V]):
    """The ordered queue: what came first comes out first, whatever it is about.

    `pop` hands over a batch: consecutive deltas with distinct keys, so that it can be applied as one. Everything else
    travels alone. The initial state is the first `ReplacedAll` of each scope; a delta never belongs to it.
    differs from client-go: there, all that is popped before the queue has synced counts as initial. With one scope that
    is the same; with several, a change in a namespace that is listed already would pass for a part of the first list.
    differs from client-go: a closed queue refuses additions, which would never be popped.

    Args:
        scopes: What is listed each by itself; all must have been listed before the queue has synced.
        batch: How many deltas are handed over at once, at most.

    Raises:
        InvalidValueError: If there is no scope, or a single string, or if a batch would be empty.
    """

    def __init__(self, *, scopes: Collection[str] = ("",), batch: int = BATCH) -> None:
        # A str is a collection, too: of its characters, which are never meant.
        if not scopes or isinstance(scopes, str):
            raise InvalidValueError(
                f"{scopes!r} names no scopes; give a collection of names, of which an empty one means everything",
                value=scopes,
            )
        if batch < 1:
            raise InvalidValueError(f"a batch of {batch} changes is empty; give 1 or more", value=batch)
        self._scopes = frozenset(scopes)
        self._awaited = set(scopes)
        self._batch = batch
        self._changes: deque[Change[V]] = deque()
        self._has_begun = False
        self._is_closed = False

    def add(self, key: str, value: V, version: str) -> None:
        """An object has been created.

        Raises:
            ClosedError: If the queue is closed.
        """
        self._event(Delta(DeltaType.ADDED, key, value, version))

    def update(self, key: str, value: V, version: str) -> None:
        """An object has changed.

        Raises:
            ClosedError: If the queue is closed.
        """
        self._event(Delta(DeltaType.UPDATED, key, value, version))

    def delete(self, key: str, value: V | None, version: str, *, final_state_known: bool = True) -> None:
        """An object is gone; queued even if it was never added, since the queue does not know the store.

        Raises:
            ClosedError: If the queue is closed.
        """
        self._event(Delta(DeltaType.DELETED, key, value, version, final_state_known))

    def replace(
        self, items: dict[str, V], version: str, *, scope: str = "", kept: frozenset[str] = frozenset()
    ) -> None:
        """A scope has been listed; comes out as one `ReplacedAll`.

        Raises:
            ClosedError: If the queue is closed.
            InvalidValueError: If the queue has no such scope.
        """
        self._check_scope(scope)
        self._put(ReplacedAll(items, version, scope, kept))
        self._has_begun = True

    def resync(self) -> None:
        """Deliver every object of the store again; comes out as one `SyncAll`.

        Raises:
            ClosedError: If the queue is closed.
        """
        self._put(SyncAll())

    def bookmark(self, version: str, *, scope: str = "") -> None:
        """A scope has no other changes up to this version.

        Raises:
            ClosedError: If the queue is closed.
            InvalidValueError: If the queue has no such scope.
        """
        self._check_scope(scope)
        self._put(Bookmark(version, scope))

    def pop(self, process: Process[V]) -> bool:
        """Hand the next batch, or the next change that travels alone, over to ``process``.

        If ``process`` raises, its error passes on, and the changes are gone all the same.

        Returns:
            Whether there was something.

        Raises:
            ClosedError: If the queue is closed and empty.
        """
        if not self._changes:
            if self._is_closed:
                raise ClosedError("the queue is closed, and everything in it has been popped")
            return False
        # Taken out first: changes on which process raises must not come again.
        change = self._changes.popleft()
        if isinstance(change, Delta):
            process(self._batch_from(change), False)
        elif isinstance(change, ReplacedAll):
            self._process_list(change, process)
        else:
            process((change,), False)
        return True

    def close(self) -> None:
        """Take nothing more. What is queued can still be popped; closing twice does no harm."""
        self._is_closed = True

    @property
    def has_synced(self) -> bool:
        """Whether the first list of every scope has been popped and processed, or changes came before any list."""
        return not self._awaited

    def __len__(self) -> int:
        return len(self._changes)

    def _event(self, delta: Delta[V]) -> None:
        self._put(delta)
        if not self._has_begun:
            self._has_begun = True
            self._awaited.clear()

    def _put(self, change: Change[V]) -> None:
        if self._is_closed:
            raise ClosedError("the queue is closed and takes no more changes; its informer has been stopped")
        self._changes.append(change)

    def _check_scope(self, scope: str) -> None:
        if scope not in self._scopes:
            known = ", ".join(f'"{name}"' for name in sorted(self._scopes))
            raise InvalidValueError(f'the queue has no scope "{scope}", only {known}', value=scope)

    def _batch_from(self, first: Delta[V]) -> list[Delta[V]]:
        batch = [first]
        keys = {first.key}
        while self._changes and len(batch) < self._batch:
            change = self._changes[0]
            if not isinstance(change, Delta) or change.key in keys:
                break
            self._changes.popleft()
            keys.add(change.key)
            batch.append(change)
        return batch

    def _process_list(self, change: ReplacedAll[V], process: Process[V]) -> None:
        try:
            process((change,), change.scope in self._awaited)
        finally:
            # Even if it raised: waiting for a list that has been and gone would never end.
            self._awaited.discard(change.scope)
