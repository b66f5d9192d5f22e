"""Server-side apply for a reconcile: sets the owner, and sends no request that would change nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from masthead._client.write_base import managed_fields_error
from masthead._controller.applied_configurations import Configuration
from masthead._controller.ownership import check_controllable, gains_controller, prepare_configuration
from masthead._controller.primary_writer import resource_client, target_of
from masthead._meta import wire
from masthead._meta.patch import Patch, PatchType
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
    from masthead._client.options import PatchArguments
    from masthead._client.resource import ResourceClient
    from masthead._controller.applied_configurations import AppliedConfigurations
    from masthead._controller.cache_reader import CacheReader
    from masthead._controller.flight import Flight
    from masthead._controller.primary_writer import ObjectTarget, PrimaryWriter
    from masthead._meta.object import Object

__all__ = ["ServerSideApply"]

_MAX_ATTEMPTS: Final = 5
"""Number of attempts to apply an object that others write concurrently."""
_SLICE_SECONDS: Final = 0.005
"""Seconds of comparisons after which other tasks of the event loop get a turn."""


class ServerSideApply:
    """Applies objects.

    Args:
        client: The client.
        reader: The caches.
        flight: The reconcile with its writes.
        primary: The reconciled object, the owner of applied objects.
        applied: Configurations that the controllers of this process have applied.
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

    async def apply(self, obj: Object, *, owned: bool, field_manager: str, force: bool) -> Object:
        """Apply an object, unless that would change nothing; see `masthead.aio.ReconcileContext.apply`.

        Args:
            obj: The object.
            owned: Whether the reconciled object becomes its controller.
            field_manager: The owner of the fields.
            force: Take over fields that other managers own.
        """
        # Measured, because comparing many large objects would block the event loop. With the clock of the loop: in
        # virtual time, the speed of the machine must not matter.
        clock = asyncio.get_running_loop().time
        began = clock()
        target = await target_of(self._client, obj)
        owner: Object | None = self._primary.latest if owned else None
        plain = prepare_configuration(obj, owner, self._flight.request.namespace if target.namespaced else "")
        metadata: dict[str, Any] = plain["metadata"]
        config = Configuration(plain, obj.gvk, target.resource.group_resource, field_manager)
        name, namespace = obj.metadata.name, metadata.get("namespace", "")
        resource: ResourceClient[Object] = resource_client(self._client, obj, target, namespace)
        live, is_unseen = await self._read_live(resource, target, name, namespace, is_owned=owned)
        for attempt in range(_MAX_ATTEMPTS):
            if live is not None:
                if owner is not None:
                    check_controllable(live, owner)
                if self._applied.covers(config, live):
                    await self._let_others_run(clock() - began)
                    return _convert(live, obj)
            # A cache without an existing child is behind, and so may be the cache of the reconciled object.
            if owner is None or is_unseen or gains_controller(live, owner):
                await self._confirm_primary(obj, config.key[1], is_retry=attempt > 0)
            if live is not None:
                # The version identifies the event of this write as an own one, and prevents lost updates.
                metadata = {**metadata, "resourceVersion": live.metadata.resource_version}
            try:
                data = {**plain, "metadata": metadata}
                applied = await self._send(resource, data, owner, field_manager=field_manager, force=force)
            except (ConflictError, NotFoundError) as error:
                # Without a version, the write made no assumption that a retry could correct.
                is_final = live is None or attempt == _MAX_ATTEMPTS - 1
                if isinstance(error, ApplyConflictError) or is_final:
                    raise
                # Without the old resourceVersion: a deleted object is created again.
                live, metadata = await _read(resource, name), plain["metadata"]
            else:
                self._applied.remember(config, applied, is_creation=live is None)
                return applied
        raise AssertionError  # unreachable: the last attempt returns or raises

    async def _send(
        self,
        resource: ResourceClient[Object],
        data: dict[str, Any],
        owner: Object | None,
        *,
        field_manager: str,
        force: bool,
    ) -> Object:
        name, namespace = data["metadata"]["name"], data["metadata"].get("namespace", "")
        if data["metadata"].get("managedFields"):
            raise managed_fields_error(f"{namespace}/{name}" if namespace else name, field_manager)
        try:
            patch = Patch(PatchType.APPLY, wire.encode(data))
            options: PatchArguments = {"field_manager": field_manager}
            if force:
                options["force"] = True
            return await resource.patch(name, patch, **options)
        except UnprocessableError:
            # Another object may have become its controller, which the cache does not show yet.
            if owner is not None and (current := await _read(resource, name)) is not None:
                check_controllable(current, owner)
            raise

    async def _read_live(
        self, resource: ResourceClient[Object], target: ObjectTarget, name: str, namespace: str, *, is_owned: bool
    ) -> tuple[Object | None, bool]:
        """Return the current object, and whether it exists although its cache does not show it.

        It comes from the cache, or from the server if the cache cannot know. Without this read, a field manager that
        has applied the reference to another owner would silently replace it.
        """
        is_cached = self._reader.holds(target.resource.group_resource)
        # The cache is older than a write of this reconcile.
        is_written = is_cached and self._flight.has_written(f"{namespace}/{name}" if namespace else name)
        cached: Object | None = None
        if is_cached and not is_written:
            cached = self._reader.get(target.resource, name, namespace)
        # A cache without the object proves nothing: another owner may just have created it.
        if cached is not None or not (is_owned or is_written):
            return cached, False
        live = await _read(resource, name)
        return live, is_cached and not is_written and live is not None

    async def _confirm_primary(self, obj: Object, key: str, *, is_retry: bool) -> None:
        """Check that the cache is right about the reconciled object before a child is created or taken over.

        The cache may be older than a deletion. The garbage collector would delete a child of the deleted object, even
        if a new object of the same name uses it. What is written without an owner, it would never delete.

        Raises:
            StaleObjectError: If the object was changed, deleted or recreated.
        """
        if not await self._primary.confirm(again=is_retry):
            raise StaleObjectError(
                f"{self._flight.request} was changed, deleted or recreated, which the cache does not show yet: "
                f"{obj.kind} {key} is not applied"
            )

    async def _let_others_run(self, seconds: float) -> None:
        """Yield to the event loop at intervals, because comparisons alone never await anything."""
        self._busy_seconds += seconds
        if self._busy_seconds >= _SLICE_SECONDS:
            self._busy_seconds = 0.0
            await asyncio.sleep(0)


def _convert(live: Object, obj: Object) -> Object:
    """Return an object in the form of another, typed or untyped."""
    cls = cast("type[Object]", type(obj).api_type)
    return live if type(live).api_type is cls else cls.from_dict(live.to_dict())


async def _read(resource: ResourceClient[Object], name: str) -> Object | None:
    try:
        return await resource.get(name)
    except NotFoundError:
        return None
