"""A store that its owner fills."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from masthead._cache.store.indexer import NAMESPACE, Indexer, by_namespace
from masthead._cache.store.storage import storage_for
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.store import IndexedStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._cache.store.storage import Hold, Stored
    from masthead._sansio.store import IndexFunc

__all__ = ["Store"]

T = TypeVar("T", bound=Object)


@set_module("masthead")
class Store(Indexer[T]):
    """A cache that its owner fills: for pumps of one's own, and for what does not come from a server.

    Args:
        item: What the objects are.
        indexers: What to index them by, beside their namespace.
        hold: How to hold them.

    Raises:
        IndexConflictError: If an indexer has the name of one that is always there.

    Threads: may be used from any.
    """

    def __init__(
        self,
        item: type[T],
        indexers: Mapping[str, IndexFunc[T]] | None = None,
        *,
        hold: Hold = "lazy",
    ) -> None:
        storage = storage_for(hold, item)
        store: IndexedStore[Stored, T] = IndexedStore({NAMESPACE: by_namespace}, opened=storage.unpack)
        super().__init__(store, storage)
        self.add_indexers(indexers or {})

    def add(self, obj: T) -> None:
        """Put an object in, in place of any that has its key."""
        version = obj.metadata.resource_version
        with self._gate:
            self._store.put(obj.key, self._storage.pack(obj), obj=obj, version=version)

    update = add

    def delete(self, obj: Object) -> None:
        """Take an object out; harmless if it is not there."""
        with self._gate:
            self._store.remove(obj.key, version=obj.metadata.resource_version)

    def replace(self, objects: Iterable[T], version: str) -> None:
        """Put these objects in place of all that are there, in one step."""
        with self._gate:
            self._store.replace({each.key: self._storage.pack(each) for each in objects}, version)

    def resync(self) -> None:
        """Do nothing: the owner of the store dispatches its objects."""
