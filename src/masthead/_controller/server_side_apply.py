"""Server-side apply for a reconcile: with the owner, and only if something would change."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, cast

from masthead._controller.applied_configurations import Configuration
from masthead._controller.ownership import check_controllable, gains_controller, owned_copy
from masthead._controller.primary_writer import resource_client, target_of
from masthead.errors import (
    ApplyConflictError,
    ConflictError,
    NotFoundError,
    StaleObjectError,
    UnprocessableError,
)

if TYPE_CHECKING:
    from typing import Any

    from masthead._client.client import Client
    from masthead._client.resource import ResourceClient
    from masthead._controller.applied_configurations import AppliedConfigurations
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.flight import Flight
    from masthead._controller.primary_writer import ObjectTarget, PrimaryWriter
    from masthead._meta.object import Object

__all__ = ["ServerSideApply"]

_MAX_ATTEMPTS: Final = 5
"""How often an object is applied while others write it at the same time."""
_SLICE_SECONDS: Final = 0.005
"""How long objects are compared before other tasks of the event loop get their turn."""


class ServerSideApply:
    """Applies objects.

    Args:
        client: The client.
        reader: The caches, which show what has been applied already.
        flight: The reconcile, which knows what it has written.
        primary: The reconciled object, which owns what is applied.
        applied: What the controllers of this process have applied before.
    """

    def __init__(
        self,
        client: Client,
        reader: CacheReader,
        flight: Flight,
        primary: PrimaryWriter[Any],
        applied: AppliedConfigurations,
    ) -> None:
        self._client = client
        self._reader = reader
        self._flight = flight
        self._primary = primary
        self._applied = applied
        self._busy_seconds = 0.0

    async def apply(self, given: Object, *, owned: bool, field_manager: str, force: bool) -> Object:
        """Apply an object, unless it has been applied like this already; see `masthead.aio.ReconcileContext.apply`.

        Args:
            given: The object.
            owned: Whether the reconciled object becomes its controller.
            field_manager: Who owns the fields.
            force: Take over fields that other managers own.
        """
        began = time.perf_counter()
        target = await target_of(self._client, given)
        owner: Object | None = self._primary.latest if owned else None
        wanted = owned_copy(given, owner, self._flight.request.namespace if target.namespaced else "")
        config = Configuration(wanted, target.resource.group_resource, field_manager)
        resource: ResourceClient[Object] = resource_client(self._client, wanted, target)
        given_version = wanted.metadata.resource_version
        live = await self._live(wanted, target, resource, is_owned=owned)
        for attempt in range(_MAX_ATTEMPTS):
            if live is not None:
                if owner is not None:
                    check_controllable(live, owner)
                if self._applied.covers(config, live):
                    await self._let_others_run(time.perf_counter() - began)
                    return _converted(live, wanted)
            if owner is not None and gains_controller(live, owner):
                await self._confirm_owner(wanted, is_retry=attempt > 0)
            # With the version, the event of this write is known to be its own, and nothing is overwritten unseen.
            wanted.metadata.resource_version = given_version if live is None else live.metadata.resource_version
            try:
                applied: Object = await resource.apply(wanted, field_manager=field_manager, force=force)
            except UnprocessableError:
                # Perhaps because another object has become its controller, which the cache does not show yet.
                if owner is not None and (now := await _read(resource, wanted)) is not None:
                    check_controllable(now, owner)
                raise
            except ApplyConflictError:
                raise
            except (ConflictError, NotFoundError):
                # Without a version, nothing was expected of the object that could have turned out to be wrong.
                if live is None or attempt == _MAX_ATTEMPTS - 1:
                    raise
                live = await _read(resource, wanted)
            else:
                self._applied.remember(config, applied, is_creation=live is None)
                return applied
        raise AssertionError  # unreachable: the last attempt returns or raises

    async def _live(
        self, wanted: Object, target: ObjectTarget, resource: ResourceClient[Object], *, is_owned: bool
    ) -> Object | None:
        """The object as it is: from the cache, or from the server if the cache cannot know.

        Without a look, a field manager that has applied the reference to another owner would silently replace it.
        """
        if not self._reader.holds(target.resource.group_resource):
            return await _read(resource, wanted) if is_owned else None
        if self._flight.has_written(wanted):
            # The cache is behind this reconcile's own write, and would compare with the past.
            return await _read(resource, wanted)
        found: Object | None = self._reader.get(target.resource, wanted.metadata.name, wanted.metadata.namespace)
        return found

    async def _confirm_owner(self, wanted: Object, *, is_retry: bool) -> None:
        """Check that the reconciled object still exists before it gets a child.

        The cache may be older than a deletion. A child of the dead would be collected as garbage, and with it what the child
        of a living namesake holds.

        Raises:
            StaleObjectError: If it is gone, or another object has its name.
        """
        if not await self._primary.confirm(anew=is_retry):
            raise StaleObjectError(
                f"{self._flight.request} is gone, or another object has its name now, which the cache does not show yet: "
                f"{wanted.kind} {wanted.key} is not applied"
            )

    async def _let_others_run(self, seconds: float) -> None:
        """Yield to the event loop now and then: nothing else does while objects are only compared."""
        self._busy_seconds += seconds
        if self._busy_seconds >= _SLICE_SECONDS:
            self._busy_seconds = 0.0
            await asyncio.sleep(0)


def _converted(live: Object, wanted: Object) -> Object:
    """An object in the form of another: typed or untyped."""
    cls = cast("type[Object]", type(wanted).api_type)
    return live if type(live).api_type is cls else cls.from_dict(live.to_dict())


async def _read(resource: ResourceClient[Object], wanted: Object) -> Object | None:
    try:
        return await resource.get(wanted.metadata.name)
    except NotFoundError:
        return None
