"""The parts of objects that have verbs of their own: status and scale, and how others are read and written.

One class per part; the clientset puts together what each kind has. A part's body and answer are of the kind that the
resource's own facts name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead._client.options import write_query
from masthead._client.write_base import WriteBase
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.object import Object
from masthead._meta.patch import Patch
from masthead._meta.registry import registry
from masthead.errors import UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation
    from masthead.api.autoscaling.v1 import Scale

__all__ = ["SubresourceBase", "ScaleVerbs", "StatusVerbs"]

_USUAL: Final = {"scale": GroupVersionKind("autoscaling", "v1", "Scale")}
"""What a part is where a kind does not say so: one's own kinds need not repeat it."""

T = TypeVar("T", bound=Object)


class StatusVerbs(WriteBase[T], Generic[T]):
    """For kinds whose status is written apart from the rest."""

    async def update_status(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Replace an object's status; everything else in it is ignored.

        Raises:
            ConflictError: if the object was changed since it was read.
        """
        return await self._put(
            obj,
            subresource="status",
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def patch_status(
        self,
        name: str,
        patch: Patch,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Change parts of an object's status."""
        return await self._patch(
            name,
            patch,
            subresource="status",
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def apply_status(
        self,
        obj: T | Mapping[str, object],
        *,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Apply an object's status on the server's side, and own its fields.

        Raises:
            ConflictError: if others own a field.
        """
        return await self._apply(
            obj,
            subresource="status",
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            timeout=timeout,
        )


class SubresourceBase(WriteBase[T], Generic[T]):
    """How a part of an object is read and written that is of another kind than the object."""

    async def _kind_of(self, subresource: str) -> type[Object]:
        """The class of a part.

        Raises:
            UnknownKindError: if the resource has no such part.
        """
        target = await self._target()
        found = target.facts.subresource(subresource) if target.facts is not None else None
        kind = _USUAL.get(subresource) if found is None else found.kind
        if kind is None:
            raise UnknownKindError(f"{target.name} have no {subresource}")
        return registry.object_class(kind)

    async def _part(
        self,
        verb: str,
        name: str,
        subresource: str,
        body: Object | None = None,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Object:
        """Read, create or replace a part, and return what the server answers."""
        cls = await self._kind_of(subresource)
        query = self._how(dry_run, field_manager, field_validation)
        call = await self._build_call(
            verb,
            name=name,
            subresource=subresource,
            query=[] if body is None else query,
            body=None if body is None else body.to_json(),
            timeout=timeout,
        )
        return cls.from_wire((await self._context.rest.call(call)).body)

    async def _act(
        self,
        name: str,
        subresource: str,
        content: Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Send something to a part whose answer says nothing but that it was done."""
        cls = await self._kind_of(subresource)
        query = write_query(dry_run=dry_run, field_manager=self._manager(field_manager))
        metadata = {"name": name, **({"namespace": self._namespace} if self._namespace else {})}
        body = cls.from_dict({"metadata": metadata, **content}).to_json()
        call = await self._build_call(
            "create", name=name, subresource=subresource, query=query, body=body, timeout=timeout
        )
        await self._context.rest.call(call)


class ScaleVerbs(SubresourceBase[T], Generic[T]):
    """For kinds that have a number of replicas."""

    async def get_scale(self, name: str, *, timeout: float | None = None) -> Scale:
        """Read how many replicas are wanted, and how many there are."""
        return cast("Scale", await self._part("get", name, "scale", timeout=timeout))

    async def update_scale(
        self,
        name: str,
        scale: Scale,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Scale:
        """Set how many replicas are wanted.

        Raises:
            ConflictError: if the object was changed since the scale was read.
        """
        return cast(
            "Scale",
            await self._part(
                "update",
                name,
                "scale",
                scale,
                dry_run=dry_run,
                field_manager=field_manager,
                field_validation=field_validation,
                timeout=timeout,
            ),
        )

    async def patch_scale(
        self,
        name: str,
        patch: Patch,
        *,
        force: bool | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Scale:
        """Change the number of replicas that are wanted, whatever else has changed."""
        cls = await self._kind_of("scale")
        call = await self._patch_call(
            name,
            patch,
            subresource="scale",
            force=force,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
        return cast("Scale", cls.from_wire((await self._context.rest.call(call)).body))

    async def apply_scale(
        self,
        name: str,
        scale: Scale | Mapping[str, object],
        *,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> Scale:
        """Apply the number of replicas on the server's side, and own it.

        Raises:
            ConflictError: if others own it.
        """
        given = scale if isinstance(scale, Object) else (await self._kind_of("scale")).from_dict(scale)
        return await self.patch_scale(
            name,
            Patch.apply(given),
            force=force or None,
            dry_run=dry_run,
            field_manager=self._owner(field_manager, f"the scale of {name}"),
            field_validation=field_validation,
            timeout=timeout,
        )
