"""Objects of any kind, without a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._client.base import name_of
from masthead._client.options import read_query
from masthead._client.resource import ResourceClient
from masthead._meta.unstructured import Unstructured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["DynamicResource"]


class DynamicResource(ResourceClient[Unstructured]):
    """The objects of a resource that is known by its name only.

    Every verb of `ResourceClient` is there, and takes plain data as well as objects. Those for single objects can go to a
    part of the object: ``get("web", subresource="scale")``.
    """

    _ITEM = Unstructured

    async def get(
        self,
        name: str,
        *,
        subresource: str = "",
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Read one object, or a part of it.

        Raises:
            NotFoundError: if there is none of that name.
        """
        query = read_query(resource_version=resource_version)
        call = await self._build_call("get", name=name, subresource=subresource, query=query, timeout=timeout)
        return await self._get_object(call)

    async def create(
        self,
        obj: Unstructured | Mapping[str, object],
        *,
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Create an object; or send something to a part of an object, such as an eviction.

        Args:
            obj: What to send.
            name: Of which object it is a part; for subresources alone.
            subresource: Which part.
            dry_run: Go through everything, and store nothing.
            field_manager: Under which name it is recorded.
            field_validation: What becomes of fields that the server does not know.
            timeout: Seconds for the whole call.

        Raises:
            AlreadyExistsError: if there is one of that name.
            InvalidError: if it breaks the rules of its kind.
        """
        if not subresource:
            return await super().create(
                obj,
                dry_run=dry_run,
                field_manager=field_manager,
                field_validation=field_validation,
                timeout=timeout,
            )
        given = await self._coerce(obj, field_validation)
        return await self._post(
            given,
            name=name or name_of(given, "create"),
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def update(
        self,
        obj: Unstructured | Mapping[str, object],
        *,
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Replace an object, or a part of it.

        Raises:
            ConflictError: if the object was changed since it was read.
            NotFoundError: if there is none of that name.
        """
        return await self._put(
            obj,
            subresource=subresource,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def apply(
        self,
        obj: Unstructured | Mapping[str, object],
        *,
        subresource: str = "",
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Unstructured:
        """Apply an object, or a part of it, on the server's side.

        Raises:
            ConflictError: if others own a field.
        """
        return await self._apply(
            obj,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def delete(
        self,
        name: str,
        *,
        subresource: str = "",
        grace_period_seconds: int | None = None,
        propagation_policy: DeletionPropagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        ignore_store_read_error: bool = False,
        timeout: float | None = None,
    ) -> Unstructured | None:
        """Delete an object, or send a DELETE to a part of it. The options are those of `ResourceClient.delete`.

        Returns:
            The object, if it is still there because something has to end first; None if it is gone.

        Raises:
            NotFoundError: if there is none of that name.
            ConflictError: if it is not the object, or not the version, that was meant.
        """
        return await self._delete(
            name,
            subresource=subresource,
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            ignore_store_read_error=ignore_store_read_error,
            timeout=timeout,
        )
