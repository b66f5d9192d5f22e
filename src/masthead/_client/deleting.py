"""Patching and deleting objects, of which no more need be known than their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.access import object_or_none
from masthead._client.listing import ListWish
from masthead._client.options import delete_body, delete_options
from masthead._client.writing import Writing
from masthead._meta.object import Object

if TYPE_CHECKING:
    from masthead._client.options import FieldSelection, FieldValidation, LabelSelection
    from masthead._meta.patch import Patch
    from masthead._meta.v1 import DeletionPropagation, ResourceVersionMatch

__all__ = ["Deleting", "Patching"]

T = TypeVar("T", bound=Object)


class Patching(Writing[T], Generic[T]):
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


class Deleting(Writing[T], Generic[T]):
    """Deletes objects of a kind."""

    async def delete(
        self,
        name: str,
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: DeletionPropagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        ignore_store_read_error: bool = False,
        timeout: float | None = None,
    ) -> T | None:
        """Delete an object.

        Args:
            name: Which one.
            grace_period_seconds: How long it may take to end; 0 for at once.
            propagation_policy: What becomes of what it owns: ``Background``, ``Foreground`` or ``Orphan``.
            uid: Delete it only if it is this very object.
            resource_version: Delete it only if it is still at this version.
            dry_run: Go through everything, and store nothing.
            ignore_store_read_error: Delete it even if the server cannot read it. This may break the cluster.
            timeout: Seconds for the whole call; None for the client's own.

        Returns:
            The object, if it is still there because something has to end first; None if it is gone.

        Raises:
            NotFoundError: if there is none of that name.
            ConflictError: if it is not the object, or not the version, that was meant.
        """
        return await self._delete(
            name,
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            ignore_store_read_error=ignore_store_read_error,
            timeout=timeout,
        )

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
        """Delete every object that is selected; without a selector, every object there is.

        The options are those of `list` and of `delete`.
        """
        wish = ListWish(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_=continue_,
            timeout_seconds=timeout_seconds,
        )
        options = delete_options(
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            uid=None,
            resource_version=None,
            dry_run=dry_run,
        )
        call = await self._call(
            "deletecollection", query=wish.query(), body=delete_body(options), timeout=timeout
        )
        await self._access.rest.call(call)

    async def _delete(
        self,
        name: str,
        *,
        subresource: str = "",
        grace_period_seconds: int | None,
        propagation_policy: DeletionPropagation | None,
        uid: str | None,
        resource_version: str | None,
        dry_run: bool,
        ignore_store_read_error: bool,
        timeout: float | None,
    ) -> T | None:
        options = delete_options(
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
            ignore_store_read_error=ignore_store_read_error,
        )
        call = await self._call(
            "delete", name=name, subresource=subresource, body=delete_body(options), timeout=timeout
        )
        return object_or_none(await self._access.rest.call(call), (await self._target()).item)
