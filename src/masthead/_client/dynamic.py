"""The dynamic client: objects of any kind, untyped."""

# A keyword next to ``**options`` is compatible with the base, whose typed dictionary has no such key.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack, overload

from masthead._client.base import default_for, name_of
from masthead._client.copy_verbs import CopyVerbs
from masthead._client.log_verbs import LogVerbs
from masthead._client.options import NO_DEFAULT, DeleteParameters, PatchParameters, WriteParameters, read_query
from masthead._client.port_forward_verbs import PortForwardVerbs
from masthead._client.proxy_verbs import ProxyVerbs
from masthead._client.resource import ResourceClient
from masthead._client.restarts import RestartVerbs
from masthead._client.stream_verbs import AttachVerbs
from masthead._client.subresources import StatusVerbs
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import DeletionArguments, PatchArguments, WriteArguments

__all__ = ["DynamicResource"]

D = TypeVar("D")


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

    It has every verb of `ResourceClient`, takes plain data as well as objects, and writes the status with
    `update_status`, `patch_status` and `apply_status`. The verbs for single objects accept any subresource:
    ``get("web", subresource="scale")``.
    """

    _ITEM = Unstructured

    @overload
    async def get(
        self,
        name: str,
        *,
        subresource: str = "",
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    @overload
    async def get(
        self,
        name: str,
        *,
        default: D,
        subresource: str = "",
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured | D: ...
    async def get(
        self,
        name: str,
        *,
        default: D = NO_DEFAULT,
        subresource: str = "",
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured | D:
        """Read one object, or a subresource of it.

        Args:
            name: The object's name.
            default: What to return if no object has that name; without it, that is an error.
            subresource: The subresource; empty for the object itself.
            resource_version: How fresh the object must be; None for the newest state.
            timeout: Timeout of the whole call in seconds, retries included; None for the client's default.

        Raises:
            NotFoundError: If no object has that name.
        """
        target = await self._target()
        query = read_query(resource_version) if resource_version else None
        call = self._build_call(target, "get", name=name, subresource=subresource, query=query, timeout=timeout)
        try:
            return await self._get_object(target, call)
        except NotFoundError as error:
            return default_for(error, default)

    async def create(
        self,
        obj: Unstructured | Mapping[str, object],
        *,
        name: str = "",
        subresource: str = "",
        **options: Unpack[WriteArguments],
    ) -> Unstructured:
        """Create an object, or post to a subresource, such as an eviction.

        Args:
            obj: The object to send.
            name: The name of the object whose subresource it is; for subresources only.
            subresource: The subresource.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            AlreadyExistsError: If an object of that name exists.
            UnprocessableError: If it fails validation.
        """
        if not subresource:
            return await super().create(obj, **options)
        parameters = self._parameters(WriteParameters, "create", options)
        coerced = await self._coerce(obj, parameters.field_validation)
        # Bodies of subresources, such as a Binding, may have no name of their own.
        name = name or name_of(coerced, "create")
        return await self._post(coerced, parameters, name=name, subresource=subresource)

    async def update(
        self, obj: Unstructured | Mapping[str, object], *, subresource: str = "", **options: Unpack[WriteArguments]
    ) -> Unstructured:
        """Replace an object, or a subresource of it.

        Args:
            obj: The object to send, or plain data.
            subresource: The subresource; empty for the object itself.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since it was read.
            NotFoundError: If no object has that name.
        """
        return await self._put(obj, self._parameters(WriteParameters, "update", options), subresource=subresource)

    async def apply(
        self, obj: Unstructured | Mapping[str, object], *, subresource: str = "", **options: Unpack[PatchArguments]
    ) -> Unstructured:
        """Apply an object, or a subresource of it, with server-side apply.

        Args:
            obj: The object to send, or plain data.
            subresource: The subresource; empty for the object itself.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            ApplyConflictError: If other managers own some of the fields with other values, and not `force`.
        """
        return await self._apply(obj, self._parameters(PatchParameters, "apply", options), subresource=subresource)

    async def delete(
        self, name: str, *, subresource: str = "", **options: Unpack[DeletionArguments]
    ) -> Unstructured | None:
        """Delete an object, or send a DELETE to a subresource.

        Args:
            name: The object's name.
            subresource: The subresource.
            options: Those of `ResourceClient.delete`; see `DeletionArguments`.

        Returns:
            The object, if it still exists and is being deleted; otherwise None.

        Raises:
            NotFoundError: If no object has that name.
            ConflictError: If the UID or the resource version does not match.
        """
        return await self._delete(name, self._parameters(DeleteParameters, "delete", options), subresource=subresource)
