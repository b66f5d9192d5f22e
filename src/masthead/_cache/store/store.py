"""The objects of a cache, by key: read from any thread without waiting."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, NoReturn, TypeAlias, TypeVar, cast

from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError, InformerStateError

if TYPE_CHECKING:
    from collections.abc import Sized

    from masthead._cache.store.storage import ObjectStorage, Stored
    from masthead._sansio.store import IndexedStore

__all__ = ["Store", "count_of", "disown"]

T = TypeVar("T", bound=Object)

V = TypeVar("V")

ListOf: TypeAlias = list[V]  # the class below has a method of that name


def count_of(objects: Sized) -> str:
    """Format the number of objects."""
    try:
        return f"{len(objects)} object{'' if len(objects) == 1 else 's'}"
    except InformerStateError:  # a repr must not raise
        return "of another process"


def disown(store: Store[T], problem: str) -> None:
    """Make every read raise: the objects belong to another process."""
    # Replacing the inner store keeps a check out of every read.
    store._store = cast("IndexedStore[Stored, T]", DisownedStore(problem))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


class DisownedStore:
    """Replaces the store of an informer after a fork; every read raises.

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


@set_module("masthead.cache")
class Store(Generic[T]):
    """Objects by key.

    Reads are served from memory and return immediately. Objects are shared: `copy` one before you change it. Lists are
    unordered.

    Threads: may be used from any.
    """

    def __init__(
        self, store: IndexedStore[Stored, T], storage: ObjectStorage[T], gate: threading.RLock | None = None
    ) -> None:
        """Read stored objects.

        Args:
            store: The objects and their indices.
            storage: Packs and unpacks the objects.
            gate: The lock that writers of the store hold.
        """
        self._store = store
        self._storage = storage
        self._open = storage.unpack
        self._gate = gate or threading.RLock()

    def get_by_key(self, key: str) -> T | None:
        """The object with a key, ``namespace/name`` or ``name``; None if it is not stored."""
        stored = self._store.get(key)
        return None if stored is None else self._open(stored)

    def get(self, obj: Object) -> T | None:
        """The stored version of an object; None if it is not stored.

        Raises:
            ArgumentError: If the argument is not an object.
        """
        return self.get_by_key(_key_of(obj))

    def list(self) -> ListOf[T]:
        """All objects."""
        return self._storage.unpack_all(self._store.values())

    def list_keys(self) -> ListOf[str]:
        """The keys of all objects."""
        return self._store.keys()

    @property
    def version(self) -> str:
        """The resource version of the objects; empty if not known yet."""
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
        return f"<{type(self).__name__}: {count_of(self)}{self._describe_indices()}>"

    def _describe_indices(self) -> str:
        return ""
