"""Server-side apply for a reconcile: with the owner, and only if something would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._controller.ownership import check_controllable, is_applied, owned_copy
from masthead._controller.primary_writer import resource_client, target_of
from masthead.errors import ApplyConflictError, ConflictError, InvalidError, NotFoundError

if TYPE_CHECKING:
    from masthead._client.client import Client
    from masthead._client.resource import ResourceClient
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.flight import Flight
    from masthead._controller.primary_writer import ObjectTarget
    from masthead._meta.object import Object

__all__ = ["ServerSideApply"]


class ServerSideApply:
    """Applies objects.

    Args:
        client: The client.
        reader: The caches, which show what has been applied already.
        flight: The reconcile, which knows what it has written.
    """

    def __init__(self, client: Client, reader: CacheReader, flight: Flight) -> None:
        self._client = client
        self._reader = reader
        self._flight = flight

    async def apply(self, given: Object, owner: Object | None, *, field_manager: str, force: bool) -> Object:
        """Apply an object, unless it has been applied like this already; see `masthead.aio.Context.apply`.

        Args:
            given: The object.
            owner: What becomes its controller; None for nothing.
            field_manager: Who owns the fields.
            force: Take over fields that other managers own.
        """
        target = await target_of(self._client, given)
        namespace = self._flight.request.namespace if target.namespaced else ""
        wanted = owned_copy(given, owner, namespace)
        resource = resource_client(self._client, wanted, target)
        live = await self._live(wanted, target, resource, is_owned=owner is not None)
        if live is not None:
            if owner is not None:
                check_controllable(live, owner)
            # A cache that is behind one's own write would compare with the past.
            if not self._flight.has_written(wanted) and is_applied(live, wanted, field_manager):
                return live
        try:
            return await _send(resource, wanted, live, field_manager=field_manager, force=force)
        except InvalidError:
            # Perhaps because another object has become its controller, which the cache does not show yet.
            if owner is not None and (now := await _read(resource, wanted)) is not None:
                check_controllable(now, owner)
            raise

    async def _live(
        self, wanted: Object, target: ObjectTarget, resource: ResourceClient[Object], *, is_owned: bool
    ) -> Object | None:
        """The object as it is, from the cache; one that is to be owned from the server, if no cache has its kind.

        Without a look, a field manager that has applied the reference to another owner would silently replace it.
        """
        if not self._reader.holds(str(target.resource.group_resource)):
            return await _read(resource, wanted) if is_owned else None
        found: Object | None = self._reader.get(
            target.resource, wanted.metadata.name, wanted.metadata.namespace
        )
        return found if found is not None and type(found).api_type is type(wanted).api_type else None


async def _send(
    resource: ResourceClient[Object], wanted: Object, live: Object | None, *, field_manager: str, force: bool
) -> Object:
    if live is not None:
        # With the version, the event of this write is known to be its own; if it is not the newest, try without.
        wanted.metadata.resource_version = live.metadata.resource_version
        try:
            return await resource.apply(wanted, field_manager=field_manager, force=force)
        except ApplyConflictError:
            raise
        except (ConflictError, NotFoundError):
            wanted.metadata.resource_version = ""
    return await resource.apply(wanted, field_manager=field_manager, force=force)


async def _read(resource: ResourceClient[Object], wanted: Object) -> Object | None:
    try:
        return await resource.get(wanted.metadata.name)
    except NotFoundError:
        return None
