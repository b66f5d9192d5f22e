"""The indexed store of a cache: one writer, and readers that never wait.

::

     IndexedStore ──> state ─┬─ items                     key ──> value
          │                  └─ indices    name ──> index ─┬─ buckets    index value ──> key ──> value   (readers)
          └─ versions, owners (of scopes)                  └─ values     key ──> index values            (the writer)

     put, remove                 change the dicts of the state, one at a time
     replace, add_indexers       build a second state, then swap:    state A ──────> state B
     prepare                     builds it in slices, for event loops; the swap is still one step

When one scope is replaced, both states share the buckets without objects of that scope. If no object leaves, as in the
first list of each scope, no second state is needed: new objects enter each dict in one step, so that a reader finds all
of them or none. Otherwise the first lists of many namespaces would take time quadratic in their number.

A reader reads the state once per call, and copies from it with single dict operations, which are atomic in Python, with
or without the GIL. So readers need no lock, and see all of the old or all of the new state around a swap. Between
swaps, the store has every object of an index: a put writes items before buckets, a removal the other way round. An
object that changes its bucket enters the new bucket before it leaves the old one: a reader may find it in both for a
moment, but never in none.

Each index remembers the values of each key, so that a removal does not call the index function again. A function with
varying results leaves nothing behind.

The store holds packed values: objects, or their compressed form; ``opened`` returns the object, for index functions.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._sansio.slices import finish, in_slices
from masthead._sansio.store_indices import ScopeOwners, StoreIndex, StoreState, as_tuple, check_values
from masthead._sansio.versions import oldest
from masthead.errors import ArgumentError, IndexConflictError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping
    from collections.abc import Set as AbstractSet

    from masthead._sansio.store_indices import IndexErrorHook, IndexFunc

__all__ = ["IndexedStore", "Replacement"]

V = TypeVar("V")
T = TypeVar("T")


def _ignore_index_error(_index: str, _key: str, _error: Exception) -> None:
    pass


class IndexedStore(Generic[V, T]):
    """Packed values by key, and their indices.

    Any thread may read at any time; one thread at a time may write. Values are shared: do not change them.

    Args:
        indexers: Index functions by name. If one raises, or returns anything but strings, ``on_index_error`` is called,
            and the object is missing from that index only.
            differs from client-go: there, it ends the program. A
            function with an attribute ``of_key``, a function of the key with the same result, needs no object, so that
            none is unpacked for it.
        opened: Unpacks a value. If it raises, ``on_index_error`` is called for every index.
        on_index_error: Called with errors of index functions; ignored by default.
        scopes: The separately listed parts, such as namespaces. `version` waits for all of them; other scopes are added
            with their first version.

    Raises:
        ArgumentError: If an indexer is not a function.
    """

    __slots__ = ("_on_index_error", "_opened", "_owners", "_state", "_versions")

    def __init__(
        self,
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        *,
        opened: Callable[[V], T],
        on_index_error: IndexErrorHook = _ignore_index_error,
        scopes: Collection[str] = (),
    ) -> None:
        self._opened = opened
        self._on_index_error = on_index_error
        self._versions: dict[str, str] = dict.fromkeys(scopes, "")
        self._owners = ScopeOwners()
        self._state: StoreState[V, T] = StoreState({}, {})
        self.add_indexers(indexers or {})

    def get(self, key: str) -> V | None:
        """The value of a key, or None."""
        return self._state.items.get(key)

    def keys(self) -> list[str]:
        """All keys, in no particular order."""
        return list(self._state.items)

    def values(self) -> list[V]:
        """All values, in no particular order."""
        return list(self._state.items.values())

    def items(self) -> list[tuple[str, V]]:
        """All keys with their values, in no particular order."""
        # The copy is atomic. Building pairs is not: it may start a garbage collection, which runs any code.
        return list(self._state.items.copy().items())

    def __len__(self) -> int:
        return len(self._state.items)

    def __contains__(self, key: object) -> bool:
        return key in self._state.items

    def by_index(self, name: str, value: str) -> list[V]:
        """The objects with an index value, in time proportional to their number.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        bucket = self._state.index(name).buckets.get(value)
        return [] if bucket is None else list(bucket.values())

    def index_keys(self, name: str, value: str) -> list[str]:
        """The sorted keys of the objects with an index value.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        bucket = self._state.index(name).buckets.get(value)
        return [] if bucket is None else sorted(list(bucket))  # noqa: C414 - list() is atomic, sorted() is not

    def index_values(self, name: str) -> list[str]:
        """All values of an index, in no particular order.

        Raises:
            UnknownIndexError: If there is no such index.
                differs from client-go: there, an index that does not exist has no values.
        """
        return list(self._state.index(name).buckets)

    def index(self, name: str, obj: T) -> list[V]:
        """The objects that share an index value with an object, which need not be stored.

        Exceptions of the index function propagate to the caller.

        Raises:
            UnknownIndexError: If there is no such index.
            ArgumentError: If the index function returns anything but strings.
        """
        index = self._state.index(name)
        # By key: an object with several of the values is returned once.
        union: dict[str, V] = {}
        for value in as_tuple(check_values(index.function(obj))):
            union.update(index.buckets.get(value, {}))
        return list(union.values())

    @property
    def indexers(self) -> Mapping[str, IndexFunc[T]]:
        """The current index functions, by name."""
        return MappingProxyType({name: index.function for name, index in self._state.indices.items()})

    def has_index(self, name: str) -> bool:
        """Whether there is an index with that name."""
        return name in self._state.indices

    def index_failures(self) -> dict[str, dict[str, str]]:
        """Errors of index functions by index and key of the object; at most 100 per index."""
        indices = self._state.indices
        return {name: index.failures.copy() for name, index in indices.items() if index.failures}

    @property
    def version(self) -> str:
        """The version that all scopes have reached: the oldest of their versions.

        Empty until every scope has one. Versions that are not numbers cannot be compared: with several scopes, the
        result is empty, too.
        """
        # A copy: a writer may add a scope at the same time.
        versions = list(self._versions.values())
        return versions[0] if len(versions) == 1 else oldest(versions)

    def version_of(self, scope: str) -> str:
        """The version that a scope has reached; empty if it has none."""
        return self._versions.get(scope, "")

    def items_of(self, scope: str) -> dict[str, V]:
        """The values of a scope, by key; for the writing thread."""
        items = self._state.items
        keys = self._owners.keys(scope, items)
        return items.copy() if len(keys) == len(items) else {key: items[key] for key in keys}

    def put(self, key: str, value: V, *, obj: T | None = None, version: str = "", scope: str = "") -> V | None:
        """Store a value; return the previous value of the key.

        Args:
            key: The key, which belongs to ``scope`` from now on.
            value: The packed value.
            obj: The object, if the caller has it, so that the value need not be unpacked.
            version: The version that the scope has reached; empty if unchanged.
            scope: The scope of the list or watch.
        """
        state = self._state
        previous = state.items.get(key)
        state.items[key] = value
        if state.indices:
            self._enter(state.indices, key, value, obj)
        if scope or self._owners.scopes:
            self._owners.give(key, scope)
        if version:
            # Last, so that a reader that waits for a version finds its objects.
            self._versions[scope] = version
        return previous

    def remove(self, key: str, *, version: str = "", scope: str = "") -> V | None:
        """Remove a key; return its value.

        Args:
            key: The key, which need not be stored.
            version: The version that the scope has reached; empty if unchanged.
            scope: The scope of the watch.
        """
        state = self._state
        # Out of the indices first, so that every object of an index is in the store.
        for index in state.indices.values():
            index.remove(key)
        previous = state.items.pop(key, None)
        if self._owners.scopes:
            self._owners.give(key, "")
        if version:
            self._versions[scope] = version
        return previous

    def replace(self, items: dict[str, V], version: str, *, scope: str = "") -> None:
        """Replace all values of a scope in one step.

        Args:
            items: The new values, by key. A key of another scope moves to this one.
            version: The version of the list; empty if unknown.
            scope: The listed scope.
        """
        self.commit(finish(self.prepare(items.copy(), scope=scope)), version)

    def prepare(self, items: dict[str, V], *, scope: str = "") -> Generator[None, None, Replacement[V, T]]:
        """Prepare the replacement of all values of a scope, in slices.

        Readers see nothing of it before the commit; an abandoned replacement has no effect. Until the commit, only
        indexers may be added.

        Args:
            items: The new values, by key. The store takes over the dict: do not change it afterwards.
            scope: The listed scope.

        Returns:
            The replacement to commit.
        """
        state = self._state.blank()
        replacement = Replacement(items, scope, state)
        # Indices first: they are the slow part, and readers still use the old state.
        for part in in_slices(items.items()):
            for key, value in part:
                self._enter(state.indices, key, value, None)
            yield
        state.items = items
        scopes = self._owners.scopes
        if scopes:
            for keys in in_slices(items):
                replacement.moved += [key for key in keys if scopes.get(key, "") not in {"", scope}]
                yield
        old = self._state
        leaving = self._owners.keys(scope, old.items)
        if len(leaving) < len(old.items):
            # A key of another scope leaves that scope, too.
            replacement.leaving = leaving | (old.items.keys() & items.keys())
            if replacement.leaving:
                replacement.remaining = yield from old.without(replacement.leaving, state)
        return replacement

    def commit(self, replacement: Replacement[V, T], version: str) -> None:
        """Make a replacement visible to readers, in one step.

        Args:
            replacement: The prepared replacement.
            version: The version of the list; empty if unknown.
        """
        old, new, scope = self._state, replacement.state, replacement.scope
        self._add_late_indices(replacement)
        leaving = self._owners.keys(scope, old.items)
        if len(leaving) < len(old.items):
            remaining = replacement.remaining or old
            remaining.join(new)
            new = remaining
        self._state = new
        self._owners.replace(scope, leaving, replacement.items, replacement.moved)
        self._versions[scope] = version

    def _add_late_indices(self, replacement: Replacement[V, T]) -> None:
        """Fill the indices that were added during the preparation."""
        state, remaining = replacement.state, replacement.remaining
        for name, index in self._state.indices.items():
            if name in state.indices:
                continue
            state.indices[name] = index.blank()
            self._fill({name: state.indices[name]}, replacement.items)
            if remaining is not None:
                remaining.indices[name] = finish(index.without(replacement.leaving, state.indices[name]))

    def copy_items(self) -> dict[str, V]:
        """A copy of all keys with their values; takes 20 ns per object."""
        return self._state.items.copy()

    def set_version(self, version: str, *, scope: str = "") -> None:
        """Record that a scope has reached a version, without a change."""
        self._versions[scope] = version

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indices. Objects already in the store are indexed immediately.

        Raises:
            IndexConflictError: If an index has the same name, even with the same function; then none is added.
            ArgumentError: If one is not a function; then none is added.
        """
        old = self._state
        for name, function in indexers.items():
            if name in old.indices:
                raise IndexConflictError(
                    f'there is an index "{name}" already; choose another name, or use the one that is there',
                    value=name,
                )
            if not callable(function):
                raise ArgumentError(
                    f'the indexer "{name}" is of type {type(function).__name__}; give a function that takes an object '
                    f"and returns a list of str",
                    value=function,
                )
        # All are checked before the first is built, so that either all are added or none.
        added: dict[str, StoreIndex[V, T]] = {
            name: StoreIndex(name, function, self._on_index_error) for name, function in indexers.items()
        }
        self._fill(added, old.items)
        # One assignment: readers take no lock, and see all new indices or none.
        self._state = StoreState(old.items, old.indices | added)

    def _fill(self, indices: Mapping[str, StoreIndex[V, T]], items: Mapping[str, V]) -> None:
        if indices:
            for key, value in items.items():
                self._enter(indices, key, value, None)

    def _enter(self, indices: Mapping[str, StoreIndex[V, T]], key: str, value: V, obj: T | None) -> None:
        """Add a value to each of the indices."""
        for index in indices.values():
            if obj is None and index.of_key is None:
                try:
                    obj = self._opened(value)
                except Exception as error:  # noqa: BLE001 - the value is stored, whether it can be unpacked or not
                    index.fail(key, error)
                    continue
            index.put(key, value, obj)


class Replacement(Generic[V, T]):
    """A new state of a scope, which readers do not see yet; see `IndexedStore.prepare`."""

    __slots__ = ("items", "leaving", "moved", "remaining", "scope", "state")

    def __init__(self, items: dict[str, V], scope: str, state: StoreState[V, T]) -> None:
        self.items: dict[str, V] = items
        self.scope: str = scope
        self.state: StoreState[V, T] = state
        self.moved: list[str] = []
        """Keys that move here from another scope."""
        self.leaving: AbstractSet[str] = frozenset()
        """Keys that leave the old state, unless all of them do."""
        self.remaining: StoreState[V, T] | None = None
        """The old state without the leaving keys; None if no key leaves, or all."""
