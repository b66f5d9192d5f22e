"""The base of all verbs that write objects or subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

import msgspec

from masthead._client.base import BaseResource, name_of
from masthead._client.options import write_query
from masthead._meta.object import Object
from masthead._meta.patch import Patch, PatchType
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import PatchParameters, Query, WriteParameters
    from masthead._client.resource_target import ResourceTarget
    from masthead._rest.call import Call

__all__ = ["WriteBase", "managed_fields_error"]

T = TypeVar("T", bound=Object)


class WriteBase(BaseResource[T], Generic[T]):
    """Posts, puts, patches and applies objects and subresources."""

    def _write_params(self, options: WriteParameters, force: bool | None = None) -> Query:
        """The query parameters of a write, completed with the client's defaults."""
        return write_query(
            dry_run=options.dry_run,
            field_manager=self._manager(options.field_manager),
            field_validation=self._validation(options.field_validation),
            force=force,
        )

    async def _post(self, obj: T, options: WriteParameters, *, name: str | None = None, subresource: str = "") -> T:
        target = await self._target()
        call = self._build_call(
            target,
            "create",
            name=name,
            about=obj.metadata.name,
            namespace=obj.metadata.namespace,
            subresource=subresource,
            query=self._write_params(options),
            body=obj.to_json(),
            timeout=options.timeout,
        )
        return await self._get_object(target, call)

    async def _put(self, obj: T | Mapping[str, object], options: WriteParameters, *, subresource: str = "") -> T:
        target = await self._target()
        coerced = await self._coerce(obj, options.field_validation)
        call = self._build_call(
            target,
            "update",
            name=name_of(coerced, "update"),
            namespace=coerced.metadata.namespace,
            subresource=subresource,
            query=self._write_params(options),
            body=coerced.to_json(),
            timeout=options.timeout,
        )
        return await self._get_object(target, call)

    async def _patch(
        self, name: str, patch: Patch, options: PatchParameters, *, namespace: str = "", subresource: str = ""
    ) -> T:
        target = await self._target()
        call = self._patch_call(target, name, patch, options, namespace=namespace, subresource=subresource)
        return await self._get_object(target, call)

    def _patch_call(
        self,
        target: ResourceTarget[T],
        name: str,
        patch: Patch,
        options: PatchParameters,
        *,
        namespace: str = "",
        subresource: str = "",
    ) -> Call:
        """Build the call of a patch, also for subresources whose response is of another kind than the object.

        Raises:
            ArgumentError: If `patch` is not a `Patch`, or `force` is given for a patch that is not an
                apply.
        """
        if not isinstance(cast("object", patch), Patch):
            made = "Patch.json([...])" if isinstance(cast("object", patch), list) else "Patch.merge({...})"
            raise ArgumentError(
                f"patch is of type {type(patch).__name__}; say which kind of patch it is, as in {made}", value=patch
            )
        is_apply = patch.type is PatchType.APPLY
        # The API server refuses force for any other patch.
        if options.force is not None and not is_apply:
            raise ArgumentError(f"force is for apply patches; this is one of {patch.type.name}", value=options.force)
        return self._build_call(
            target,
            "apply" if is_apply else "patch",
            name=name,
            namespace=namespace,
            subresource=subresource,
            query=self._write_params(options, options.force),
            body=patch.body,
            content_type=patch.type,
            timeout=options.timeout,
        )

    async def _apply(self, obj: T | Mapping[str, object], options: PatchParameters, *, subresource: str = "") -> T:
        coerced = await self._coerce(obj, options.field_validation)
        manager = self._owner(options.field_manager, coerced.key)
        if not coerced.kind:
            raise ArgumentError(f"to apply {coerced.key}, say what it is: its apiVersion and kind", value=coerced.key)
        if coerced.metadata.managed_fields:
            raise managed_fields_error(coerced.key, manager)
        # The server's default is not to force, so False is not sent.
        sent = msgspec.structs.replace(options, field_manager=manager, force=options.force or None)
        return await self._patch(
            name_of(coerced, "apply"),
            Patch.apply(coerced),
            sent,
            namespace=coerced.metadata.namespace,
            subresource=subresource,
        )

    def _owner(self, field_manager: str | None, subject: str) -> str:
        """The field manager of an apply.

        Raises:
            ArgumentError: If neither the call nor the client names one.
        """
        manager = self._manager(field_manager)
        if not manager:
            raise ArgumentError(
                f"to apply {subject}, say who owns its fields: field_manager=..., here or for the client"
            )
        return manager


def managed_fields_error(key: str, manager: str) -> ArgumentError:
    """Return the error of an apply of an object that has managed fields."""
    return ArgumentError(
        f"to apply {key}, leave out metadata.managedFields: send only what you want to own; "
        f"masthead.managed_fields.extract(obj, {manager!r}) makes such an object from one that was read",
        value=key,
    )
