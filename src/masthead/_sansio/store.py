"""What a cache knows, by key and by index: one writer, and readers that never wait.

::

     IndexedStore ──> state ─┬─ items                     key ──> value
          │                  └─ indices    name ──> index ─┬─ buckets    index value ──> key ──> value   (readers)
          └─ versions, owners (of scopes)                  └─ values     key ──> index values            (the writer)

     put, remove                 change the dicts of the state, one at a time
     replace, add_indexers       build another state beside it, then swap:    state A ──────> state B
     prepare                     does that in slices, for event loops; the swap is still one step

If other scopes stay as they are, both states share the buckets that have nothing of the one that is replaced. And where
nothing goes, as in the first list of each scope, no other state is needed: what is new comes into each dict in one step,
so that each look finds all of it or nothing. The first lists of many namespaces would take the square of their number
otherwise.

Readers take the state once a call, and copy out of it with single operations on dicts, which Python does as one step,
with its global lock or without. So they need no lock, and find all of the old or all of the new around a swap. Between
swaps, what an index gives is in the store: a put writes items first and buckets then, a removal the other way round.
An object that changes its bucket enters the new one before it leaves the old one: for a moment it is found in both, as
what it was and as what it is, but never in none.

Each index remembers the values of each key, so that a removal does not ask the index function again: one that answers
differently each time leaves nothing behind.

What is stored is a *held* value: an object, or whatever stands for it; ``opened`` gives the object, for index functions.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._sansio.slices import finish, in_slices
from masthead._sansio.store_indices import Index, ScopeOwners, StoreState, as_tuple, check_values
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
    """Held values by key, and by the indices over them.

    Any thread may read at any time; one at a time may write. What is read is shared: do not change it.

    Args:
        indexers: Index functions by name. One that raises, or returns something else than strings, is reported to
            ``on_index_error``; that object is in no bucket of that index, and nothing else suffers.
            differs from client-go: there, it ends the program.
            One that has an attribute ``of_key``, a function that says the same of the key, needs no object: nothing is
            opened for it.
        opened: Gives the object that a held value stands for. If it raises, it is reported for every index.
        on_index_error: Called with errors of index functions; ignored by default.
        scopes: What is listed each by itself, such as namespaces. `version` waits for all of these; others join when
            they are first given a version.

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

    # Reading, in any thread.

    def get(self, key: str) -> V | None:
        """The value of a key, or None."""
        return self._state.items.get(key)

    def keys(self) -> list[str]:
        """All keys, in no order that could be relied on."""
        return list(self._state.items)

    def values(self) -> list[V]:
        """All values, in no order that could be relied on."""
        return list(self._state.items.values())

    def items(self) -> list[tuple[str, V]]:
        """All keys with their values, in no order that could be relied on."""
        # The copy is one step. Making pairs is not: it may set off a garbage collection, and that anything.
        return list(self._state.items.copy().items())

    def __len__(self) -> int:
        return len(self._state.items)

    def __contains__(self, key: object) -> bool:
        return key in self._state.items

    def by_index(self, name: str, value: str) -> list[V]:
        """The values that an index has under a value; takes as long as there are results, whatever the store holds.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        bucket = self._state.index(name).buckets.get(value)
        return [] if bucket is None else list(bucket.values())

    def index_keys(self, name: str, value: str) -> list[str]:
        """The keys that an index has under a value, sorted.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        bucket = self._state.index(name).buckets.get(value)
        return [] if bucket is None else sorted(list(bucket))  # noqa: C414 - one step: sorted may not be one

    def index_values(self, name: str) -> list[str]:
        """The values under which an index has something, in no order that could be relied on.

        Raises:
            UnknownIndexError: If there is no such index.
                differs from client-go: there, an index that does not exist has no values.
        """
        return list(self._state.index(name).buckets)

    def index(self, name: str, obj: T) -> list[V]:
        """The values that share a value with an object in an index, each once; the object need not be stored.

        What the index function raises passes on to the caller, who gave the object.

        Raises:
            UnknownIndexError: If there is no such index.
            ArgumentError: If the index function gives something else than strings for the object.
        """
        index = self._state.index(name)
        # By key: an object that has several of the values is returned once.
        union: dict[str, V] = {}
        for value in as_tuple(check_values(index.function(obj))):
            union.update(index.buckets.get(value, {}))
        return list(union.values())

    @property
    def indexers(self) -> Mapping[str, IndexFunc[T]]:
        """The index functions by name, as they are now."""
        return MappingProxyType({name: index.function for name, index in self._state.indices.items()})

    def has_index(self, name: str) -> bool:
        """Whether there is an index of that name."""
        return name in self._state.indices

    def index_failures(self) -> dict[str, dict[str, str]]:
        """Stored objects that an index function has failed on: errors by index and key, at most 100 for each index."""
        indices = self._state.indices
        return {name: index.failures.copy() for name, index in indices.items() if index.failures}

    @property
    def version(self) -> str:
        """The version to which everything is known: the oldest of the scopes' versions.

        Empty until every scope has one. Versions that are not numbers cannot be compared: with several scopes, one of
        these makes it empty, too.
        """
        versions = list(self._versions.values())
        return versions[0] if len(versions) == 1 else oldest(versions)

    def version_of(self, scope: str) -> str:
        """The version to which a scope is known; empty if it has none."""
        return self._versions.get(scope, "")

    # Writing, in one thread at a time.

    def items_of(self, scope: str) -> dict[str, V]:
        """What belongs to a scope, by key; for the thread that writes."""
        items = self._state.items
        keys = self._owners.keys(scope, items)
        return items.copy() if len(keys) == len(items) else {key: items[key] for key in keys}

    def put(self, key: str, value: V, *, obj: T | None = None, version: str = "", scope: str = "") -> V | None:
        """Store a value, and return the one that it takes the place of.

        Args:
            key: Its key, which from now on belongs to ``scope``.
            value: What to hold.
            obj: The object, where it is at hand, so that it need not be opened.
            version: To which version the scope is known now; empty for no news.
            scope: Where it was listed or watched.
        """
        state = self._state
        previous = state.items.get(key)
        state.items[key] = value
        if state.indices:
            self._enter(state.indices, key, value, obj)
        if scope or self._owners.scopes:
            self._owners.give(key, scope)
        if version:
            # Last: a reader that waits for a version finds its objects.
            self._versions[scope] = version
        return previous

    def remove(self, key: str, *, version: str = "", scope: str = "") -> V | None:
        """Forget a key, and return the value that it had.

        Args:
            key: Which; one that is not stored does no harm.
            version: To which version the scope is known now; empty for no news.
            scope: Where it was watched.
        """
        state = self._state
        for index in state.indices.values():
            index.remove(key)
        previous = state.items.pop(key, None)
        if self._owners.scopes:
            self._owners.give(key, "")
        if version:
            self._versions[scope] = version
        return previous

    def replace(self, items: dict[str, V], version: str, *, scope: str = "") -> None:
        """Store these values in the place of everything that belongs to a scope, in one step.

        Args:
            items: What is there, by key. A key that belonged to another scope changes hands.
            version: The version of the list; empty if unknown.
            scope: What was listed.
        """
        self.commit(finish(self.prepare(items.copy(), scope=scope)), version)

    def prepare(self, items: dict[str, V], *, scope: str = "") -> Generator[None, None, Replacement[V, T]]:
        """Build what takes the place of everything that belongs to a scope; stops after each slice.

        Readers see nothing of it before it is committed; one that is given up has changed nothing. Until the commit,
        nothing else may be written but indexers.

        Args:
            items: What is there, by key. The store keeps this very dict: do not change it afterwards.
            scope: What was listed.

        Returns:
            What to commit.
        """
        state = self._state.blank()
        made = Replacement(items, scope, state)
        for part in in_slices(items.items()):
            for key, value in part:
                self._enter(state.indices, key, value, None)
            yield
        state.items = items
        scopes = self._owners.scopes
        if scopes:
            for keys in in_slices(items):
                made.moved += [key for key in keys if scopes.get(key, "") not in {"", scope}]
                yield
        old = self._state
        leaving = self._owners.keys(scope, old.items)
        if len(leaving) < len(old.items):
            # A key that belonged to another scope leaves, too.
            made.gone = leaving | (old.items.keys() & items.keys())
            if made.gone:
                made.rest = yield from old.without(made.gone, state)
        return made

    def commit(self, replacement: Replacement[V, T], version: str) -> None:
        """Let readers see what was prepared, in one step.

        Args:
            replacement: The new state of a scope.
            version: The version of the list; empty if unknown.
        """
        old, new, scope = self._state, replacement.state, replacement.scope
        self._add_late_indices(replacement)
        leaving = self._owners.keys(scope, old.items)
        if len(leaving) < len(old.items):
            rest = replacement.rest or old
            rest.join(new)
            new = rest
        self._state = new
        self._owners.replace(scope, leaving, replacement.items, replacement.moved)
        self._versions[scope] = version

    def _add_late_indices(self, replacement: Replacement[V, T]) -> None:
        """Fill the indices that were added while a state was prepared."""
        state, rest = replacement.state, replacement.rest
        for name, index in self._state.indices.items():
            if name in state.indices:
                continue
            state.indices[name] = index.blank()
            self._fill({name: state.indices[name]}, replacement.items)
            if rest is not None:
                rest.indices[name] = finish(index.without(replacement.gone, state.indices[name]))

    def copy_items(self) -> dict[str, V]:
        """All keys with their values, as they are now; takes 20 ns each."""
        return self._state.items.copy()

    def set_version(self, version: str, *, scope: str = "") -> None:
        """A scope is known up to a version, with no change in it."""
        self._versions[scope] = version

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Add indices; what is stored is in them at once.

        Raises:
            IndexConflictError: If there is one of that name, even with the same function; then, none is added.
            ArgumentError: If one is not a function; then, none is added.
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
        # All are checked before the first is built: either all are added, or none.
        added: dict[str, Index[V, T]] = {
            name: Index(name, function, self._on_index_error) for name, function in indexers.items()
        }
        self._fill(added, old.items)
        # One assignment: readers take no lock, and see all of the new indices or none.
        self._state = StoreState(old.items, old.indices | added)

    def _fill(self, indices: Mapping[str, Index[V, T]], items: Mapping[str, V]) -> None:
        if indices:
            for key, value in items.items():
                self._enter(indices, key, value, None)

    def _enter(self, indices: Mapping[str, Index[V, T]], key: str, value: V, obj: T | None) -> None:
        """Put a value into each of the indices."""
        for index in indices.values():
            if obj is None and index.of_key is None:
                try:
                    obj = self._opened(value)
                except Exception as error:  # noqa: BLE001 - whatever it is, the value is stored, and so are all others
                    index.fail(key, error)
                    continue
            index.put(key, value, obj)


class Replacement(Generic[V, T]):
    """A new state of a scope, built beside the one that readers see; see `IndexedStore.prepare`."""

    __slots__ = ("gone", "items", "moved", "rest", "scope", "state")

    def __init__(self, items: dict[str, V], scope: str, state: StoreState[V, T]) -> None:
        self.items: dict[str, V] = items
        self.scope: str = scope
        self.state: StoreState[V, T] = state
        self.moved: list[str] = []
        """Keys that belonged to another scope."""
        self.gone: AbstractSet[str] = frozenset()
        """Keys that leave a state of which something stays."""
        self.rest: StoreState[V, T] | None = None
        """What stays of it; None if nothing leaves, or all."""
