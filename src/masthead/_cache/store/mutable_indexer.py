"""An indexer that its owner fills."""

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
    from masthead._sansio.store_indices import IndexFunc

__all__ = ["MutableIndexer"]

T = TypeVar("T", bound=Object)


@set_module("masthead.cache")
class MutableIndexer(Indexer[T]):
    """An indexer that its owner fills: for your own list-watch loops, and for objects that come from no server.

    Args:
        item: The class of the objects.
        indexers: Index functions by name, in addition to the index by namespace.
        hold: How objects are held in memory.

    Raises:
        IndexConflictError: If an index is called ``namespace``.

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
        """Store an object; replaces any with the same key."""
        version = obj.metadata.resource_version
        with self._gate:
            self._store.put(obj.key, self._storage.pack(obj), obj=obj, version=version)

    update = add

    def delete(self, obj: Object) -> None:
        """Remove an object, if it is stored."""
        with self._gate:
            self._store.remove(obj.key, version=obj.metadata.resource_version)

    def replace(self, objects: Iterable[T], version: str) -> None:
        """Replace all objects in one step."""
        with self._gate:
            self._store.replace({obj.key: self._storage.pack(obj) for obj in objects}, version)

    def resync(self) -> None:
        """Do nothing: only the owner knows whom to notify."""
