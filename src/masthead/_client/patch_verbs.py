"""The patch verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.write_base import WriteBase
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._client.options import FieldValidation
    from masthead._meta.patch import Patch

__all__ = ["PatchVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class PatchVerbs(WriteBase[T], Generic[T]):
    """Patches objects of a kind."""

    async def patch(
        self,
        name: str,
        patch: Patch,
        *,
        subresource: str = "",
        force: bool | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Patch an object, and return it as the server stored it.

        Args:
            name: The object's name.
            patch: ``Patch.merge({"spec": {"replicas": 3}})``, ``Patch.json([...])``,
                ``Patch.strategic(...)``.
            subresource: Patch a subresource whose response is the object itself, such as ``status``.
            force: Take over fields that other managers own; for apply patches only.
            dry_run: Run validation and admission without storing anything.
            field_manager: The field manager to record; None for the client's default.
            field_validation: How the server treats unknown fields.
            timeout: Timeout of the whole call, in seconds; None for the client's default.

        Raises:
            NotFoundError: If no object has that name.
        """
        return await self._patch(
            name,
            patch,
            subresource=subresource,
            force=force,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
