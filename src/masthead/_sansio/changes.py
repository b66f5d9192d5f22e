"""Changes of a resource, and the queue in which they wait.

A reflector writes to a queue, a controller pops from it and applies what comes out to a store. `Queue` is the contract.
Without a queue, changes are applied at once, in their order, and a relist is one change; a `DeltaFIFO`
(`masthead._sansio.deltafifo`) gathers them by key. Whether the whole initial state has been popped::

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


@set_module("masthead.cache")
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
            ArgumentError: If the queue has no such scope.
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
            ArgumentError: If the queue has no such scope.
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
