"""Changes of a resource, and the interface of a queue for them.

A reflector writes to a queue; a controller pops from it, and applies the changes to a store. Without a queue, changes
are applied immediately and in order, and a relist is one change. A `DeltaFIFO` (`masthead._sansio.deltafifo`) groups
them by key. The sync of a queue::

                replace            the first replace of every scope has been popped, and process returned
     WAITING ─────────────> FILLING ─────────────────────────────────────────────────────────────────────> SYNCED
        │                                                                                                    ^
        └──add, update, delete: the writer does not begin with a list, so there is no list to wait for───────┘

Its end::

           close                                    the last change is popped
     OPEN ───────> CLOSING (pop, but no writes) ─────────────────────────────> DONE (pop raises ClosedError)

Values are packed objects, which a queue does not unpack.

Not thread-safe: the caller lets one thread at a time use the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from masthead._module import set_module
from masthead._sansio.sharding import ShardRanges

__all__ = [
    "Bookmark",
    "Change",
    "Delta",
    "DeltaType",
    "Process",
    "Queue",
    "ReplacedAll",
    "Reselected",
    "SyncAll",
]

V = TypeVar("V")


@set_module("masthead.cache")
class DeltaType(Enum):
    """The type of a change."""

    ADDED = "added"
    UPDATED = "updated"
    DELETED = "deleted"
    REPLACED = "replaced"
    """Present in a relist."""
    SYNC = "sync"
    """No change: delivered again by a resync."""


@set_module("masthead.cache")
class Delta(msgspec.Struct, Generic[V], frozen=True, gc=False):  # no cycles, so the collector need not track it
    """One change of one object.

    Its repr leaves out the value, which may be a Secret.

    Attributes:
        type: The type of the change.
        key: The object's key, ``namespace/name`` or ``name``.
        value: The new state; the last known state of a deleted object, or None if there is none.
        version: The resource version of the change, for REPLACED that of the list; empty if unknown.
        final_state_known: Whether the value of a deleted object is its final state. If not, the watch missed the
            deletion, and the object is missing from a list.
    """

    type: DeltaType
    key: str
    value: V | None
    version: str = ""
    final_state_known: bool = True

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """All fields but the value, for terminals."""
        return [
            ("type", self.type.name),
            ("key", self.key),
            ("version", self.version),
            ("final_state_known", self.final_state_known),
        ]

    def __repr__(self) -> str:
        return _format_change(self)


@set_module("masthead.cache")
class ReplacedAll(msgspec.Struct, Generic[V], frozen=True):
    """The full list of a scope.

    Attributes:
        items: The objects by key. Keys of the scope that are missing here and in ``kept`` were deleted.
        version: The list's resource version.
        scope: The listed namespace; empty for a single scope.
        kept: Keys of undecodable objects, which exist: their last good state stays in the store.
        is_initial: Whether new objects count as initial, because the selection has changed.
    """

    items: dict[str, V]
    version: str
    scope: str = ""
    kept: frozenset[str] = frozenset()
    is_initial: bool = False

    def __rich_repr__(self) -> list[tuple[str, object]]:
        """Counts instead of objects, for terminals."""
        return [
            ("items", len(self.items)),
            ("version", self.version),
            ("scope", self.scope),
            ("kept", len(self.kept)),
        ]

    def __repr__(self) -> str:
        return _format_change(self)


@set_module("masthead.cache")
class SyncAll(msgspec.Struct, frozen=True):
    """A resync: every object of the store is delivered again to the handlers that are due."""


@set_module("masthead.cache")
class Reselected(msgspec.Struct, frozen=True):
    """A change of the selected shards: objects of other shards leave the store, without notifications.

    Attributes:
        shards: The selected shards.
        scope: The scope.
    """

    shards: ShardRanges
    scope: str = ""


@set_module("masthead.cache")
class Bookmark(msgspec.Struct, frozen=True):
    """The scope has no other changes up to a version.

    Attributes:
        version: The resource version.
        scope: The scope.
    """

    version: str
    scope: str = ""


def _format_change(change: Delta[V] | ReplacedAll[V]) -> str:
    parts = ", ".join(f"{name}={value!r}" for name, value in change.__rich_repr__())
    return f"{type(change).__name__}({parts})"


Change: TypeAlias = Delta[V] | ReplacedAll[V] | SyncAll | Bookmark | Reselected

Process: TypeAlias = Callable[[Sequence[Change[V]], bool], object]
"""Called with changes in order, and whether they belong to the initial state."""


@set_module("masthead.cache")
class Queue(Protocol[V]):
    """A queue of changes between a reflector and a controller.

    Its length is the number of queued changes, or groups of changes; an empty queue is false, as any collection.
    """

    def add(self, key: str, value: V, version: str) -> None:
        """Queue the creation of an object.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def update(self, key: str, value: V, version: str) -> None:
        """Queue an update of an object.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def delete(self, key: str, value: V | None, version: str, *, final_state_known: bool = True) -> None:
        """Queue the deletion of an object.

        Args:
            key: The object's key.
            value: Its last known state.
            version: The resource version of the deletion; empty if unknown.
            final_state_known: Whether ``value`` is the final state.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def replace(
        self, items: dict[str, V], version: str, *, scope: str = "", kept: frozenset[str] = frozenset()
    ) -> None:
        """Queue a full list of a scope.

        Args:
            items: The objects by key. The queue takes over the dict: do not change it afterwards.
            version: The list's resource version.
            scope: The listed scope.
            kept: Keys of undecodable objects, which must not count as deleted.

        Raises:
            ClosedError: If the queue is closed.
            ArgumentError: If the queue has no such scope.
        """
        ...

    def resync(self) -> None:
        """Queue every known object again.

        Raises:
            ClosedError: If the queue is closed.
        """
        ...

    def bookmark(self, version: str, *, scope: str = "") -> None:
        """Record that a scope has no other changes up to a version.

        Raises:
            ClosedError: If the queue is closed.
            ArgumentError: If the queue has no such scope.
        """
        ...

    def pop(self, process: Process[V]) -> bool:
        """Pass the next changes to ``process``; return whether there were any.

        If ``process`` raises, the exception propagates, and the changes are lost.

        Raises:
            ClosedError: If the queue is closed and empty.
        """
        ...

    def close(self) -> None:
        """Refuse further changes. Queued changes can still be popped; a second close is a no-op."""
        ...

    @property
    def has_synced(self) -> bool:
        """Whether the initial state has been popped and processed; stays true."""
        ...

    def __len__(self) -> int: ...
