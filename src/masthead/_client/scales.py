"""The scale client: the scale subresource of any resource that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from masthead._client.base import LazyTarget
from masthead._client.resource_target import untyped_target
from masthead._client.subresources import ScaleVerbs
from masthead._meta.gvk import GroupVersionResource
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead._client.base import ClientContext
    from masthead._client.options import PatchArguments, WriteArguments
    from masthead._client.resource_target import ResourceTarget
    from masthead._meta.patch import Patch
    from masthead._meta.unstructured import Unstructured
    from masthead.api.autoscaling.v1 import Scale

__all__ = ["Scales"]


@set_module("masthead.aio.clientset")
class Scales:
    """The scales of a namespace's objects, whatever their kinds.

    A resource is named as kubectl does (``deployments``, ``deploy``, ``widgets.example.com``), or by its
    group, version and plural.
    """

    def __init__(
        self,
        context: ClientContext,
        find: Callable[[str], Awaitable[ResourceTarget[Unstructured]]],
        namespace: str | None,
    ) -> None:
        self._context = context
        self._find = find
        self._namespace = namespace

    async def get(self, resource: str | GroupVersionResource, name: str, *, timeout: float | None = None) -> Scale:
        """Read the scale: the desired and the current number of replicas.

        Raises:
            NotFoundError: If there is no such object, or the resource has no scale.
            UnknownKindError: If there is no such resource.
        """
        return await self._of(resource).get_scale(name, timeout=timeout)

    async def update(
        self, resource: str | GroupVersionResource, name: str, scale: Scale, **options: Unpack[WriteArguments]
    ) -> Scale:
        """Set the desired number of replicas.

        Args:
            resource: The resource.
            name: The object's name.
            scale: The scale.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since the scale was read.
        """
        return await self._of(resource).update_scale(name, scale, **options)

    async def patch(
        self, resource: str | GroupVersionResource, name: str, patch: Patch, **options: Unpack[PatchArguments]
    ) -> Scale:
        """Patch the desired number of replicas, whatever the object's resource version.

        Args:
            resource: The resource.
            name: The object's name.
            patch: The patch.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.
        """
        return await self._of(resource).patch_scale(name, patch, **options)

    async def apply(
        self,
        resource: str | GroupVersionResource,
        name: str,
        scale: Scale | Mapping[str, object],
        **options: Unpack[PatchArguments],
    ) -> Scale:
        """Apply the desired number of replicas with server-side apply, and own the field.

        Args:
            resource: The resource.
            name: The object's name.
            scale: The scale.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            ApplyConflictError: If other managers own it with another value, and not `force`.
        """
        return await self._of(resource).apply_scale(name, scale, **options)

    def _of(self, resource: str | GroupVersionResource) -> ScaleVerbs[Unstructured]:
        if isinstance(resource, GroupVersionResource):
            return ScaleVerbs(self._context, untyped_target(resource, namespaced=None), self._namespace)
        return ScaleVerbs(self._context, LazyTarget(resource, lambda: self._find(resource)), self._namespace)
