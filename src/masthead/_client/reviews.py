"""Create-only resources, such as SubjectAccessReview: the response is the result, and nothing is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.write_base import WriteBase
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation

__all__ = ["Reviews"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class Reviews(WriteBase[T], Generic[T]):
    """A resource whose objects can be created, but neither read nor changed."""

    async def create(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Create an object, which needs no name, and return it with the server's result.

        Raises:
            UnprocessableError: If it fails validation.
        """
        return await self._post(
            await self._coerce(obj, field_validation),
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )
