"""Writes to the reconciled object, with optimistic locking and retries on the newest version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

from masthead._cache.factory.selection import resource_of
from masthead._controller.declarations import kind_of
from masthead._controller.freshness import is_current
from masthead._meta.object import Object
from masthead._meta.patch import Patch
from masthead._meta.unstructured import Unstructured
from masthead._sansio.own_writes import ObjectChange
from masthead.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._client.client import Client
    from masthead._client.resource import ResourceClient
    from masthead._controller.declarations import KindLike
    from masthead._meta.gvk import GroupVersionResource
    from masthead._sansio.own_writes import OwnWrites

__all__ = ["ObjectTarget", "PrimaryWriter", "open_resource", "resource_client", "target_of"]

T = TypeVar("T", bound=Object)

_ATTEMPTS: Final = 5
"""Number of attempts of a write that conflicts with concurrent writes."""


class ObjectTarget(NamedTuple):
    """The resource of an object, and its scope."""

    resource: GroupVersionResource
    namespaced: bool


async def target_of(client: Client, obj: Object) -> ObjectTarget:
    """Return the resource of an object; for an untyped object, ask the server.

    Raises:
        UnknownKindError: If the server does not serve the kind of an untyped object.
    """
    if isinstance(obj, Unstructured):
        found = await client.mapper.kind(obj.gvk)
        return ObjectTarget(found.gvr, found.namespaced)
    cls = cast("type[Object]", type(obj).api_type)
    return ObjectTarget(resource_of(cls), cls.RESOURCE is None or bool(cls.RESOURCE.namespaced))


def resource_client(client: Client, obj: Object, target: ObjectTarget, namespace: str) -> ResourceClient[Any]:
    """Return the client of an object's resource in a namespace; empty for a cluster-scoped object."""
    if isinstance(obj, Unstructured):
        return client.dynamic(target.resource, namespace=namespace or None)
    return client.resource(cast("type[Object]", type(obj).api_type), namespace or None)


def open_resource(client: Client, kind: KindLike, namespace: str) -> ResourceClient[Any]:
    """Return the client of a declared kind in a namespace; empty for a cluster-scoped kind."""
    found = kind_of(kind)
    if isinstance(found, type):
        return client.resource(found, namespace or None)
    return client.dynamic(found, namespace=namespace or None)


class PrimaryWriter(Generic[T]):
    """Patches the reconciled object, and confirms the cached version of it.

    Args:
        resource: The client of its resource, in its namespace.
        name: The name of the object.
        obj: The cached object; None if it was deleted.
        field_manager: The owner of the written fields.
        writes: The writes of the reconcile.
        kind: The kind of the object.

    Attributes:
        latest: The newest known version; None if the object was deleted.
    """

    def __init__(
        self,
        resource: ResourceClient[Any],
        name: str,
        obj: T | None,
        field_manager: str,
        *,
        writes: OwnWrites,
        kind: KindLike,
    ) -> None:
        self.latest = obj
        self._cached = obj
        self._is_confirmed = False
        self._resource = resource
        self._name = name
        self._field_manager = field_manager
        self._writes = writes
        self._kind = kind

    async def confirm(self, *, again: bool = True) -> bool:
        """Ask the server whether the cache is right about the object.

        Args:
            again: Whether to ask even if an earlier request of this reconcile has confirmed the object.

        Returns:
            Whether the object exists with the cached uid, generation and deletion, apart from changes of this reconcile
            itself; without a cached object, whether the server has none either.

        Raises:
            StatusError: If the server rejects the request.
        """
        # One confirmation per reconcile is enough for any number of children.
        if self._is_confirmed and not again:
            return True
        # A write of this reconcile may have found the deletion of a cached object already.
        if self.latest is None and self._cached is not None:
            return False
        live = await self._read()
        if self._cached is not None:
            self.latest = _keep_identity(live, self._cached)
        self._is_confirmed = self._is_expected(live)
        return self._is_confirmed

    def _is_expected(self, live: T | None) -> bool:
        """Whether a live object is the cached one, changed by this reconcile at most."""
        cached = self._cached
        if is_current(cached, live):
            return True
        if cached is None or live is None:
            return False
        known, current = cached.metadata, live.metadata
        resource = resource_of(kind_of(self._kind)).group_resource
        return self._writes.is_echo(
            ObjectChange(resource, live.key, current.uid, known.resource_version, current.resource_version)
        )

    async def patch(self, change: Callable[[Object], Mapping[str, object] | None], subresource: str = "") -> bool:
        """Patch the object with a merge patch that is computed from its newest version.

        Args:
            change: Computes the patch, which includes the version; returns None if there is nothing to change.
            subresource: The subresource to patch; empty for the object itself.

        Returns:
            Whether a patch was sent and accepted; False if the object was deleted.

        Raises:
            ConflictError: If other clients keep changing the object.
            StatusError: If the server rejects the request.
        """
        for attempt in range(_ATTEMPTS):
            current = self.latest
            if current is None or (patch := change(current)) is None:
                return False
            try:
                self.latest = cast(
                    "T",
                    await self._resource.patch(
                        self._name,
                        Patch.merge(patch),
                        subresource=subresource,
                        field_manager=self._field_manager,
                    ),
                )
            # The cache is late. The deletion event will bring the next reconcile.
            except NotFoundError:
                self.latest = None
                return False
            except ConflictError:
                if attempt == _ATTEMPTS - 1:
                    raise
                self.latest = _keep_identity(await self._read(), current)
            else:
                self._is_confirmed = self._is_expected(self.latest)
                return True
        return False

    async def _read(self) -> T | None:
        try:
            return cast("T", await self._resource.get(self._name))
        except NotFoundError:
            return None


def _keep_identity(live: T | None, known: T) -> T | None:
    """Return the live version of an object; None if it was deleted or recreated.

    A recreated object must not receive the changes that were meant for its predecessor.
    """
    return live if live is not None and live.metadata.uid == known.metadata.uid else None
