"""The verbs of the status and scale subresources, and the base of all other subresource verbs.

One class per subresource; the clientset combines the classes for each resource. The resource description names
the kind of a subresource's body and response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, Unpack, cast

import msgspec

from masthead._client.options import PatchParameters, WriteParameters, write_query
from masthead._client.write_base import WriteBase
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead._meta.patch import Patch
from masthead._meta.registry import registry
from masthead._module import set_module
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import PatchArguments, WriteArguments
    from masthead.api.autoscaling.v1 import Scale

__all__ = ["ScaleVerbs", "StatusVerbs", "SubresourceBase"]

_DEFAULT_KINDS: Final = {"scale": GroupVersionKind("autoscaling", "v1", "Scale")}
"""The kind of a subresource that a resource description leaves out: custom kinds need not repeat it."""

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class StatusVerbs(WriteBase[T], Generic[T]):
    """For resources with a status subresource."""

    async def update_status(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Replace an object's status; the rest of the object is ignored.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since it was read.
        """
        return await self._put(obj, self._parameters(WriteParameters, "update_status", options), subresource="status")

    async def patch_status(self, name: str, patch: Patch, **options: Unpack[PatchArguments]) -> T:
        """Patch an object's status.

        Args:
            name: The object's name.
            patch: The patch.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.
        """
        return await self._patch(
            name, patch, self._parameters(PatchParameters, "patch_status", options), subresource="status"
        )

    async def apply_status(self, obj: T | Mapping[str, object], **options: Unpack[PatchArguments]) -> T:
        """Apply an object's status with server-side apply, and own its fields.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            ApplyConflictError: If other managers own some of the fields with other values, and not `force`.
        """
        return await self._apply(obj, self._parameters(PatchParameters, "apply_status", options), subresource="status")


class SubresourceBase(WriteBase[T], Generic[T]):
    """Reads and writes subresources of another kind than the object."""

    async def _kind_of(self, subresource: str) -> type[Object]:
        """The class of a subresource.

        Raises:
            UnknownKindError: If the resource has no such subresource.
        """
        target = await self._target()
        found = target.facts.subresource(subresource) if target.facts is not None else None
        kind = _DEFAULT_KINDS.get(subresource) if found is None else found.kind
        if kind is None:
            raise UnknownKindError(f"{target.name} have no subresource {subresource}")
        return registry.object_class(kind)

    async def _subresource(
        self, verb: str, name: str, subresource: str, body: Object | None, options: WriteParameters
    ) -> Object:
        """Read, create or replace a subresource, and return the response."""
        cls = await self._kind_of(subresource)
        call = self._build_call(
            await self._target(),
            verb,
            name=name,
            subresource=subresource,
            # A read takes no options of writes.
            query=None if body is None else self._write_params(options),
            body=None if body is None else body.to_json(),
            timeout=options.timeout,
        )
        return cls.from_wire((await self._context.rest.call(call)).body)

    async def _post_action(
        self, name: str, subresource: str, content: Mapping[str, object], options: WriteParameters
    ) -> None:
        """Post to a subresource whose response is a plain Status."""
        cls = await self._kind_of(subresource)
        query = write_query(dry_run=options.dry_run, field_manager=self._manager(options.field_manager))
        metadata = {"name": name, **({"namespace": self._namespace} if self._namespace else {})}
        body = cls.from_dict({"metadata": metadata, **content}).to_json()
        call = self._build_call(
            await self._target(),
            "create",
            name=name,
            subresource=subresource,
            query=query,
            body=body,
            timeout=options.timeout,
        )
        await self._context.rest.call(call)


@set_module("masthead.aio.clientset")
class ScaleVerbs(SubresourceBase[T], Generic[T]):
    """For resources with a scale subresource."""

    async def get_scale(self, name: str, *, timeout: float | None = None) -> Scale:
        """Read the scale: the desired and the current number of replicas."""
        return cast("Scale", await self._subresource("get", name, "scale", None, WriteParameters(timeout=timeout)))

    async def scale(self, name: str, replicas: int, **options: Unpack[PatchArguments]) -> Scale:
        """Set the desired number of replicas, whatever it is now.

        Args:
            name: The object's name.
            replicas: The number.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            NotFoundError: If no object has that name.
            UnprocessableError: If the number is negative.
        """
        parameters = self._parameters(PatchParameters, "scale", options)
        return await self._patch_scale(name, Patch.merge({"spec": {"replicas": replicas}}), parameters)

    async def update_scale(self, name: str, scale: Scale, **options: Unpack[WriteArguments]) -> Scale:
        """Set the desired number of replicas.

        Args:
            name: The object's name.
            scale: The scale.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since the scale was read.
        """
        return cast(
            "Scale",
            await self._subresource(
                "update", name, "scale", scale, self._parameters(WriteParameters, "update_scale", options)
            ),
        )

    async def patch_scale(self, name: str, patch: Patch, **options: Unpack[PatchArguments]) -> Scale:
        """Patch the desired number of replicas, whatever the object's resource version.

        Args:
            name: The object's name.
            patch: The patch.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.
        """
        return await self._patch_scale(name, patch, self._parameters(PatchParameters, "patch_scale", options))

    async def apply_scale(
        self, name: str, scale: Scale | Mapping[str, object], **options: Unpack[PatchArguments]
    ) -> Scale:
        """Apply the desired number of replicas with server-side apply, and own the field.

        Args:
            name: The object's name.
            scale: The scale.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            ApplyConflictError: If other managers own it with another value, and not `force`.
        """
        parameters = self._parameters(PatchParameters, "apply_scale", options)
        manager = self._owner(parameters.field_manager, f"the scale of {name}")
        applied = scale if isinstance(scale, Object) else (await self._kind_of("scale")).from_dict(scale)
        sent = msgspec.structs.replace(parameters, field_manager=manager, force=parameters.force or None)
        return await self._patch_scale(name, Patch.apply(applied), sent)

    async def _patch_scale(self, name: str, patch: Patch, options: PatchParameters) -> Scale:
        cls = await self._kind_of("scale")
        call = self._patch_call(await self._target(), name, patch, options, subresource="scale")
        return cast("Scale", cls.from_wire((await self._context.rest.call(call)).body))
