"""The patch verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.write_base import WriteBase
from masthead._meta.object import Object

if TYPE_CHECKING:
    from masthead._client.options import FieldValidation
    from masthead._meta.patch import Patch

__all__ = ["PatchVerbs"]

T = TypeVar("T", bound=Object)


class PatchVerbs(WriteBase[T], Generic[T]):
    """Changes parts of the objects of a kind."""

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
        """Change parts of an object, and return it as the server stored it.

        Args:
            name: Which object.
            patch: ``Patch.merge({"spec": {"replicas": 3}})``, ``Patch.json([...])``, ``Patch.strategic(...)``.
            subresource: Patch a part that is answered with the object itself, such as ``status``.
            force: Take fields from other managers; for apply patches alone.
            dry_run: Go through everything, and store nothing.
            field_manager: Under which name it is recorded; None for the client's own.
            field_validation: What becomes of fields that the server does not know.
            timeout: Seconds for the whole call; None for the client's own.

        Raises:
            NotFoundError: if there is none of that name.
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
