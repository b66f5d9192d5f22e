"""Filters the requests of a controller by the replica's share of the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._cache.store.indexer import Indexer
    from masthead._controller.controller_services import ReplicaShare
    from masthead._controller.requests import Request
    from masthead._meta.object import Object
    from masthead._sansio.own_writes import ObjectChange

__all__ = ["ShardFilter"]


class ShardFilter:
    """Rejects requests for objects of other replicas.

    With sharding, an object that is missing from the cache may belong to another replica. Only its deletion event
    proves its deletion, so the filter remembers deletions until they are reconciled.

    Args:
        share: The replica's share.
        objects: The cache of the reconciled objects.
        resource: The reconciled resource, such as ``deployments.apps``.
    """

    def __init__(self, share: ReplicaShare, objects: Indexer[Object], resource: str) -> None:
        self._share = share
        self._objects = objects
        self._resource = resource
        self._deleted: set[Request] = set()

    @property
    def remembered_deletions(self) -> frozenset[Request]:
        """Deleted objects of this replica whose reconcile has not begun."""
        return frozenset(self._deleted)

    def accepts(self, request: Request, change: ObjectChange | None) -> bool:
        """Whether a request is for this replica."""
        obj = self._objects.get_by_key(request.key)
        # The object was recreated, so its deletion needs no reconcile.
        if obj is not None:
            self._deleted.discard(request)
            return self._share.owns(obj)
        is_deletion = change is not None and change.key == request.key and not change.new
        if not is_deletion or change is None or change.resource != self._resource:
            return False
        if self._share.owned(change.uid, request.namespace):
            self._deleted.add(request)
            return True
        return False

    def takes(self, request: Request, obj: Object | None) -> bool:
        """Whether to reconcile an object when its turn comes; forgets its deletion."""
        is_deleted = request in self._deleted
        self._deleted.discard(request)
        # Without a deletion event, a missing object has only left the share.
        return self._share.owns(obj) if obj is not None else is_deleted

    def owns(self, request: Request) -> bool:
        """Whether an object is in the cache and in the share."""
        obj = self._objects.get_by_key(request.key)
        return obj is not None and self._share.owns(obj)

    def forget(self, request: Request) -> None:
        """Forget the deletion of an object."""
        self._deleted.discard(request)
