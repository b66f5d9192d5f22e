"""The create verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.write_base import WriteBase
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation

__all__ = ["CreateVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class CreateVerbs(WriteBase[T], Generic[T]):
    """Creates objects of a kind."""

    async def create(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Create an object, and return it as the server stored it.

        Raises:
            AlreadyExistsError: If an object of that name exists.
            UnprocessableError: If it fails validation.
        """
        given = await self._coerce(obj, field_validation)
        if not given.metadata.name and not given.metadata.generate_name:
            raise ArgumentError("to create an object, set metadata.name or metadata.generate_name")
        return await self._post(
            given,
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
