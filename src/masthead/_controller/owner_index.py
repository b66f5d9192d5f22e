"""The owner index: owned objects in a cache, by the UIDs of their owners."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

from masthead.errors import IndexConflictError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._cache.informer.informer import SharedInformer
    from masthead._meta.object import Object
    from masthead._sansio.store_indices import IndexFunc

__all__ = ["OWNER_INDEX", "add_indexers", "add_owner_index", "list_owned"]

OWNER_INDEX: Final = "masthead.controller/owner"


def add_owner_index(informer: SharedInformer[Any]) -> None:
    """Index the objects of an informer by the UIDs of their owners."""
    add_indexers(informer, {OWNER_INDEX: _owner_uids})


def list_owned(informer: SharedInformer[Any], owner: Object) -> dict[str, Object]:
    """List the cached objects of an owner, by key."""
    return {obj.key: obj for obj in informer.indexer.by_index(OWNER_INDEX, owner.metadata.uid)}


def add_indexers(informer: SharedInformer[Any], indexers: Mapping[str, IndexFunc[Any]]) -> None:
    """Add indexers to a shared informer."""
    for name, function in indexers.items():
        # An earlier run of the controller may have added the same index.
        with contextlib.suppress(IndexConflictError):
            informer.add_indexers({name: function})


def _owner_uids(obj: Object) -> list[str]:
    return [owner_reference.uid for owner_reference in obj.metadata.owner_references]
