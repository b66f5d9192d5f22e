"""The base of all verbs that write objects or subresources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from masthead._client.base import BaseResource, name_of
from masthead._client.options import write_query
from masthead._meta.object import Object
from masthead._meta.patch import Patch, PatchType
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation, Query
    from masthead._rest.call import Call

__all__ = ["WriteBase"]

T = TypeVar("T", bound=Object)


class WriteBase(BaseResource[T], Generic[T]):
    """Posts, puts, patches and applies objects and subresources."""

    def _write_params(
        self,
        dry_run: bool,
        field_manager: str | None,
        field_validation: FieldValidation | None,
        force: bool | None = None,
    ) -> Query:
        """The query parameters of a write, completed with the client's defaults."""
        return write_query(
            dry_run=dry_run,
            field_manager=self._manager(field_manager),
            field_validation=self._validation(field_validation),
            force=force,
        )

    async def _post(
        self,
        given: T,
        *,
        name: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        target = await self._target()
        call = self._build_call(
            target,
            "create",
            name=name,
            about=given.metadata.name,
            namespace=given.metadata.namespace,
            subresource=subresource,
            query=self._write_params(dry_run, field_manager, field_validation),
            body=given.to_json(),
            timeout=timeout,
        )
        return await self._get_object(target, call)

    async def _put(
        self,
        obj: T | Mapping[str, object],
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        given = await self._coerce(obj, field_validation)
        target = await self._target()
        call = self._build_call(
            target,
            "update",
            name=name_of(given, "update"),
            namespace=given.metadata.namespace,
            subresource=subresource,
            query=self._write_params(dry_run, field_manager, field_validation),
            body=given.to_json(),
            timeout=timeout,
        )
        return await self._get_object(target, call)

    async def _patch(
        self,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        force: bool | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        call = await self._patch_call(
            name,
            patch,
            namespace=namespace,
            subresource=subresource,
            force=force,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
        return await self._get_object(await self._target(), call)

    async def _patch_call(
        self,
        name: str,
        patch: Patch,
        *,
        namespace: str = "",
        subresource: str = "",
        force: bool | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Call:
        """Build the call of a patch, also for subresources whose response is of another kind than the object.

        Raises:
            ArgumentError: If `patch` is not a `Patch`, or `force` is given for a patch that is not an
                apply.
        """
        if not isinstance(cast("object", patch), Patch):
            raise ArgumentError(
                f"patch is of type {type(patch).__name__}; say which kind of patch it is, as in Patch.merge({{...}})",
                value=patch,
            )
        is_apply = patch.type is PatchType.APPLY
        # The API server refuses force for any other patch.
        if force is not None and not is_apply:
            raise ArgumentError(f"force is for apply patches; this is one of {patch.type.name}", value=force)
        query = self._write_params(dry_run, field_manager, field_validation, force)
        return self._build_call(
            await self._target(),
            "apply" if is_apply else "patch",
            name=name,
            namespace=namespace,
            subresource=subresource,
            query=query,
            body=patch.body,
            content_type=patch.type,
            timeout=timeout,
        )

    async def _apply(
        self,
        obj: T | Mapping[str, object],
        *,
        subresource: str = "",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        given = await self._coerce(obj, field_validation)
        manager = self._owner(field_manager, given.key)
        if not given.kind:
            raise ArgumentError(f"to apply {given.key}, say what it is: its apiVersion and kind", value=given.key)
        if given.metadata.managed_fields:
            raise ArgumentError(
                f"to apply {given.key}, leave out metadata.managedFields: send only what you want to own; "
                f"masthead.managed_fields.extract(obj, {manager!r}) makes such an object from one that was read",
                value=given.key,
            )
        return await self._patch(
            name_of(given, "apply"),
            Patch.apply(given),
            namespace=given.metadata.namespace,
            subresource=subresource,
            force=force or None,
            dry_run=dry_run,
            field_manager=manager,
            field_validation=field_validation,
            timeout=timeout,
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
