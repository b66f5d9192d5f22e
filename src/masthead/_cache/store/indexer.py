"""The objects of a cache, by index: read from any thread without waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from masthead._cache.callables import check_plain
from masthead._cache.store.store import Store
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._sansio.store_indices import IndexFunc

__all__ = ["NAMESPACE", "Indexer", "by_namespace"]

T = TypeVar("T", bound=Object)

V = TypeVar("V")

ListOf: TypeAlias = list[V]  # the base class has a method of that name

NAMESPACE = "namespace"
"""The name of the index that every cache has."""


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
"""The index function of `NAMESPACE`."""


@set_module("masthead.cache")
class Indexer(Store[T]):
    """A store whose objects can also be read by index, such as the store of an informer.

    Threads: may be used from any.
    """

    def index(self, name: str, obj: T) -> ListOf[T]:
        """The objects that share an index value with this object.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        return self._storage.unpack_all(self._store.index(name, obj))

    def by_index(self, name: str, value: str) -> ListOf[T]:
        """The objects with a value in an index.

        Raises:
            UnknownIndexError: If there is no such index.
        """
        return self._storage.unpack_all(self._store.by_index(name, value))

    def index_keys(self, name: str, value: str) -> ListOf[str]:
        """The sorted keys of the objects with a value in an index.

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
        """Add indices. Objects already in the store are indexed immediately.

        Raises:
            IndexConflictError: If the name of an index exists; nothing is added then.
            ArgumentError: If an index function is not a plain function; nothing is added then.
        """
        for name, function in indexers.items():
            check_plain(f"the indexer {name!r}", function)
        wrapped = {name: self._storage.indexing(function) for name, function in indexers.items()}
        with self._gate:
            self._store.add_indexers(wrapped)

    @property
    def indexers(self) -> Mapping[str, IndexFunc[T]]:
        """The index functions by name of the index, as a copy."""
        return dict(self._store.indexers)

    def _describe_indices(self) -> str:
        return f", indexed by {', '.join(self._store.indexers) or 'nothing'}"
