"""The objects of a cache, to be read from any thread without waiting."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Generic, NoReturn, TypeAlias, TypeVar, cast

from masthead._cache.callables import check_plain
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized

    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._sansio.store import IndexedStore, IndexFunc

__all__ = ["NAMESPACE", "Indexer", "by_namespace", "count_of", "disown"]

T = TypeVar("T", bound=Object)

V = TypeVar("V")

ListOf: TypeAlias = list[V]  # the class below has a method of that name

NAMESPACE = "namespace"
"""The index that every cache has."""


class ByNamespace:
    """The index by namespace, for which a key is enough."""

    def __call__(self, obj: Object) -> list[str]:
        """The namespace of an object."""
        return self.of_key(obj.key)

    @staticmethod
    def of_key(key: str) -> list[str]:
        """The namespace in a key."""
        namespace, slash, _ = key.partition("/")
        return [namespace] if slash else []


by_namespace: Final = ByNamespace()
"""What every cache is indexed by."""


def count_of(objects: Sized) -> str:
    """How many objects there are, in words."""
    try:
        return f"{len(objects)} object{'' if len(objects) == 1 else 's'}"
    except InformerStateError:  # a repr must not raise
        return "of another process"


def disown(indexer: Indexer[T], problem: str) -> None:
    """Make every read of an indexer raise: its objects are those of another process."""
    # Replaced, so that readers need not ask.
    indexer._store = cast("IndexedStore[Stored, T]", DisownedStore(problem))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


class DisownedStore:
    """Stands in for the store of an informer of another process; everything that is asked of it raises.

    Args:
        problem: The message of the error.
    """

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def __getattr__(self, _: str) -> NoReturn:
        raise InformerStateError(self._problem)

    def __len__(self) -> NoReturn:
        raise InformerStateError(self._problem)

    def __contains__(self, key: object) -> NoReturn:
        raise InformerStateError(self._problem)


def _key_of(obj: object) -> str:
    if isinstance(obj, Object):
        return obj.key
    raise ArgumentError(
        f"get takes an object, and this is of type {type(obj).__name__}; for a key, use get_by_key", value=obj
    )


@set_module("masthead")
class Indexer(Generic[T]):
    """Objects by key, and by whatever they are indexed by.

    Everything here reads memory and returns at once. What it gives is shared: `copy` an object before changing it. Lists
    are in no order.

    Threads: may be used from any.
    """

    def __init__(
        self, store: IndexedStore[Stored, T], storage: ObjectStorage[T], gate: threading.RLock | None = None
    ) -> None:
        """Read a store.

        Args:
            store: What to read.
            storage: How its objects are stored.
            gate: The lock that writers of the store hold.
        """
        self._store = store
        self._storage = storage
        self._open = storage.unpack
        self._gate = gate or threading.RLock()

    def get_by_key(self, key: str) -> T | None:
        """The object of a key, ``namespace/name`` or ``name``; None if it is not in the store."""
        stored = self._store.get(key)
        return None if stored is None else self._open(stored)

    def get(self, obj: Object) -> T | None:
        """What is stored of an object; None if it is not there.

        Raises:
            ArgumentError: If it is no object.
        """
        return self.get_by_key(_key_of(obj))

    def list(self) -> ListOf[T]:
        """All objects."""
        return self._storage.unpack_all(self._store.values())

    def list_keys(self) -> ListOf[str]:
        """The keys of all objects."""
        return self._store.keys()

    def index(self, name: str, obj: T) -> ListOf[T]:
        """The objects that share a value with this one in an index.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        return self._storage.unpack_all(self._store.index(name, obj))

    def by_index(self, name: str, value: str) -> ListOf[T]:
        """The objects that have a value in an index.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        return self._storage.unpack_all(self._store.by_index(name, value))

    def index_keys(self, name: str, value: str) -> ListOf[str]:
        """The keys of the objects that have a value in an index, sorted.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        return self._store.index_keys(name, value)

    def list_index_values(self, name: str) -> ListOf[str]:
        """All values of an index.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        return self._store.index_values(name)

    def add_indexers(self, indexers: Mapping[str, IndexFunc[T]]) -> None:
        """Index the objects by more; those that are there at once.

        Raises:
            IndexConflictError: If there is an index of one of the names; nothing is added then.
            ArgumentError: If one is no plain function; nothing is added then.
        """
        for name, each in indexers.items():
            check_plain(f"the indexer {name!r}", each)
        wrapped = {name: self._storage.indexing(each) for name, each in indexers.items()}
        with self._gate:
            self._store.add_indexers(wrapped)

    @property
    def indexers(self) -> Mapping[str, IndexFunc[T]]:
        """The index functions, by the name of their index; changing the mapping changes nothing here."""
        return dict(self._store.indexers)

    @property
    def version(self) -> str:
        """The resource version that the objects are of; empty if that is not known yet."""
        return self._store.version

    def __len__(self) -> int:
        return len(self._store)

    def __contains__(self, key: object) -> bool:
        return key in self._store

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        if isinstance(self._store, DisownedStore):
            return f"<{type(self).__name__}: of another process>"
        names = ", ".join(self._store.indexers) or "nothing"
        return f"<{type(self).__name__}: {count_of(self)}, indexed by {names}>"
