"""The delete verbs: one object by name, or a collection by selector."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

from masthead._client.base import is_missing_object, object_or_none
from masthead._client.options import DeleteParameters
from masthead._client.pagination import ListQuery
from masthead._client.write_base import WriteBase
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from masthead._client.options import DeletionArguments, FieldSelection, LabelSelection
    from masthead._meta.v1 import DeletionPropagation, ResourceVersionMatch

__all__ = ["DeleteVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class DeleteVerbs(WriteBase[T], Generic[T]):
    """Deletes objects of a kind."""

    @explain_arguments
    async def delete(self, name: str, **options: Unpack[DeletionArguments]) -> T | None:
        """Delete an object.

        Args:
            name: The object's name.
            options: ``grace_period_seconds``, ``propagation_policy``, ``uid``, ``resource_version``, ``dry_run``,
                ``ignore_store_read_error``, ``ignore_not_found`` and ``timeout``; see `DeletionArguments`.

        Returns:
            The object, if it still exists and is being deleted; otherwise None.

        Raises:
            NotFoundError: If no object has that name, unless `ignore_not_found`.
            ConflictError: If the UID or the resource version does not match.
        """
        return await self._delete(name, self._parameters(DeleteParameters, "delete", options))

    async def delete_collection(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resource_version: str | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
        limit: int | None = None,
        continue_: str | None = None,
        timeout_seconds: int | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: DeletionPropagation | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Delete all objects that the selectors match; without a selector, all objects.

        The options are those of `list` and of `delete`.
        """
        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_=continue_,
            timeout_seconds=timeout_seconds,
        )
        options = DeleteParameters(
            grace_period_seconds=grace_period_seconds, propagation_policy=propagation_policy, dry_run=dry_run
        )
        # Retries included, as for a list.
        limit_seconds = timeout_seconds or math.inf
        default = self._context.rest.settings.timeout
        call = self._build_call(
            await self._target(),
            "deletecollection",
            query=query.params(),
            body=options.to_body(),
            timeout=min(default if timeout is None else timeout, limit_seconds),
        )
        await self._context.rest.call(call)

    async def _delete(self, name: str, options: DeleteParameters, *, subresource: str = "") -> T | None:
        target = await self._target()
        call = self._build_call(
            target, "delete", name=name, subresource=subresource, body=options.to_body(), timeout=options.timeout
        )
        try:
            return object_or_none(await self._context.rest.call(call), target.item)
        except NotFoundError as error:
            if options.ignore_not_found and is_missing_object(error):
                return None
            raise
