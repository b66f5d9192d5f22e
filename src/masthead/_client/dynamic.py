"""The dynamic client: objects of any kind, untyped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._client.base import name_of
from masthead._client.copy_verbs import CopyVerbs
from masthead._client.log_verbs import LogVerbs
from masthead._client.options import read_query
from masthead._client.port_forward_verbs import PortForwardVerbs
from masthead._client.proxy_verbs import ProxyVerbs
from masthead._client.resource import ResourceClient
from masthead._client.restarts import RestartVerbs
from masthead._client.stream_verbs import AttachVerbs
from masthead._client.subresources import StatusVerbs
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["DynamicResource"]


@set_module("masthead.aio.clientset")
class DynamicResource(
    ResourceClient[Unstructured],
    StatusVerbs[Unstructured],
    RestartVerbs[Unstructured],
    CopyVerbs[Unstructured],
    AttachVerbs[Unstructured],
    PortForwardVerbs[Unstructured],
    LogVerbs[Unstructured],
    ProxyVerbs[Unstructured],
):
    """The objects of a resource given by its name, as `Unstructured`.

    It has every verb of `ResourceClient`, takes plain data as well as objects, and writes the status with `update_status`,
    `patch_status` and `apply_status`. The verbs for single objects accept any subresource:
    ``get("web", subresource="scale")``.
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
        """Read one object, or a subresource of it.

        Raises:
            NotFoundError: If no object has that name.
        """
        target = await self._target()
        query = read_query(resource_version) if resource_version else None
        call = self._build_call(target, "get", name=name, subresource=subresource, query=query, timeout=timeout)
        return await self._get_object(target, call)

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
        """Create an object, or post to a subresource, such as an eviction.

        Args:
            obj: The object to send.
            name: The name of the object whose subresource it is; for subresources only.
            subresource: The subresource.
            dry_run: Run validation and admission without storing anything.
            field_manager: The field manager to record.
            field_validation: How the server treats unknown fields.
            timeout: Timeout of the whole call, in seconds.

        Raises:
            AlreadyExistsError: If an object of that name exists.
            UnprocessableError: If it fails validation.
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
        """Replace an object, or a subresource of it.

        Raises:
            ConflictError: If the object has changed since it was read.
            NotFoundError: If no object has that name.
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
        """Apply an object, or a subresource of it, with server-side apply.

        Raises:
            ApplyConflictError: If other managers own some of the fields with other values, and not `force`.
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
        """Delete an object, or send a DELETE to a subresource. The options are those of `ResourceClient.delete`.

        Returns:
            The object, if it still exists and is being deleted; None if it is gone.

        Raises:
            NotFoundError: If no object has that name.
            ConflictError: If the UID or the resource version does not match.
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
