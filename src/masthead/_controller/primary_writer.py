"""Writes to the reconciled object: each names the version that it changes, and is made again on the newest one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar, cast

from masthead._cache.factory.selection import resource_of
from masthead._meta.object import Object
from masthead._meta.patch import Patch
from masthead._meta.unstructured import Unstructured
from masthead.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._client.client import Client
    from masthead._client.resource import ResourceClient
    from masthead._meta.gvk import GroupVersionResource

__all__ = ["ObjectTarget", "PrimaryWriter", "resource_client", "target_of"]

T = TypeVar("T", bound=Object)

_ATTEMPTS: Final = 5
"""How often a write is tried when others write the object at the same time."""


class ObjectTarget(NamedTuple):
    """Where an object is served."""

    resource: GroupVersionResource
    namespaced: bool


async def target_of(client: Client, obj: Object) -> ObjectTarget:
    """Where an object is served; for an untyped one, the server says it.

    Raises:
        UnknownKindError: If the server does not serve the kind of an untyped object.
    """
    if isinstance(obj, Unstructured):
        found = await client.mapper.kind(obj.gvk)
        return ObjectTarget(found.gvr, found.namespaced)
    cls = cast("type[Object]", type(obj).api_type)
    return ObjectTarget(resource_of(cls), cls.RESOURCE is None or bool(cls.RESOURCE.namespaced))


def resource_client(client: Client, obj: Object, target: ObjectTarget) -> ResourceClient[Any]:
    """The client of an object's resource, in its namespace."""
    namespace = obj.metadata.namespace or None
    if isinstance(obj, Unstructured):
        return client.dynamic(target.resource, namespace=namespace)
    return client.resource(cast("type[Object]", type(obj).api_type), namespace)


class PrimaryWriter(Generic[T]):
    """Patches the reconciled object.

    Args:
        client: The client.
        obj: The object as the cache has it; None if it is gone.
        field_manager: Who owns the fields that are written.

    Attributes:
        latest: The newest version that is known; None if the object is gone.
    """

    def __init__(self, client: Client, obj: T | None, field_manager: str) -> None:
        self.latest = obj
        self._client = client
        self._field_manager = field_manager

    async def patch(
        self, change: Callable[[Object], Mapping[str, object] | None], subresource: str = ""
    ) -> bool:
        """Patch the object, with a merge patch that is made of its newest version.

        Args:
            change: Makes the patch, which names the version; None if there is nothing to change.
            subresource: The subresource to patch; empty for the object itself.

        Returns:
            Whether anything was written; False as well if the object is gone.

        Raises:
            ConflictError: If others keep writing the object.
            StatusError: If the server refuses it.
        """
        for attempt in range(_ATTEMPTS):
            current = self.latest
            if current is None or (patch := change(current)) is None:
                return False
            resource = resource_client(self._client, current, await target_of(self._client, current))
            try:
                self.latest = cast(
                    "T",
                    await resource.patch(
                        current.metadata.name,
                        Patch.merge(patch),
                        subresource=subresource,
                        field_manager=self._field_manager,
                    ),
                )
            except NotFoundError:
                self.latest = None
                return False
            except ConflictError:
                if attempt == _ATTEMPTS - 1:
                    raise
                self.latest = await self._read_again(resource, current)
            else:
                return True
        return False

    async def _read_again(self, resource: ResourceClient[Any], known: T) -> T | None:
        """The newest version from the server; None if the object is gone, or another one has its name."""
        try:
            found: Object = await resource.get(known.metadata.name)
        except NotFoundError:
            return None
        return cast("T", found) if found.metadata.uid == known.metadata.uid else None
