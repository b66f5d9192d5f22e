"""The patch verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from masthead._client.options import PatchParameters
from masthead._client.write_base import WriteBase
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._client.options import PatchArguments
    from masthead._meta.patch import Patch

__all__ = ["PatchVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class PatchVerbs(WriteBase[T], Generic[T]):
    """Patches objects of a kind."""

    async def patch(self, name: str, patch: Patch, *, subresource: str = "", **options: Unpack[PatchArguments]) -> T:
        """Patch an object, and return it as the server stored it.

        Args:
            name: The object's name.
            patch: ``Patch.merge({"spec": {"replicas": 3}})``, ``Patch.json([...])``,
                ``Patch.strategic(...)``.
            subresource: Patch a subresource whose response is the object itself, such as ``status``.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            NotFoundError: If no object has that name.
        """
        return await self._patch(
            name, patch, self._parameters(PatchParameters, "patch", options), subresource=subresource
        )
