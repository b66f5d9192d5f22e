"""The create verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from masthead._client.options import WriteParameters
from masthead._client.write_base import WriteBase
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import WriteArguments

__all__ = ["CreateVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class CreateVerbs(WriteBase[T], Generic[T]):
    """Creates objects of a kind."""

    @explain_arguments
    async def create(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Create an object, and return it as the server stored it.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            AlreadyExistsError: If an object of that name exists.
            UnprocessableError: If it fails validation.
        """
        parameters = self._parameters(WriteParameters, "create", options)
        coerced = await self._coerce(obj, parameters.field_validation)
        if not coerced.metadata.name and not coerced.metadata.generate_name:
            raise ArgumentError("to create an object, set metadata.name or metadata.generate_name")
        return await self._post(coerced, parameters)
