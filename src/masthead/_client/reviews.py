"""Create-only resources, such as SubjectAccessReview: the response is the result, and nothing is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from masthead._client.options import WriteParameters
from masthead._client.write_base import WriteBase
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import WriteArguments

__all__ = ["Reviews"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class Reviews(WriteBase[T], Generic[T]):
    """A resource whose objects can be created, but neither read nor changed."""

    async def create(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Create an object, which needs no name, and return it with the server's result.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            UnprocessableError: If it fails validation.
        """
        parameters = self._parameters(WriteParameters, "create", options)
        return await self._post(await self._coerce(obj, parameters.field_validation), parameters)
