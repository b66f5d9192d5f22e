"""From client-side to server-side apply, as ``kubectl apply --server-side`` does it.

The managers that updated kubectl's annotation applied the object client-side. Their fields are
handed over to the manager of server-side apply (`masthead.managed_fields.upgrade_managed_fields`), and the
configuration is applied again, which removes the fields that it no longer contains. It removes the annotation, too,
except for the manager ``kubectl``: the server keeps the annotation of that manager up to date.

A dry run cannot hand anything over for the next request. So the fields that would be removed are computed here, and the
server runs a patch to the result, which adds the defaults.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from masthead._client.last_applied import LAST_APPLIED
from masthead._meta.object import Object
from masthead._meta.patch import Patch, merge_patch
from masthead._schema.managed_fields_upgrade import find_fields_owners
from masthead.errors import ApplyConflictError, MastheadError

if TYPE_CHECKING:
    from masthead._client.options import FieldValidation
    from masthead._client.resource import ResourceClient
    from masthead._meta.metadata import ManagedFieldsEntry

__all__ = [
    "ANNOTATION_MANAGER",
    "LOGGER_NAME",
    "annotation_to_keep",
    "apply_and_migrate",
    "client_side_appliers",
]

T = TypeVar("T", bound=Object)

ANNOTATION_MANAGER: Final = "kubectl-last-applied"
"""The field manager by which kubectl keeps the annotation."""

_KUBECTL: Final = "kubectl"
"""kubectl's field manager of server-side apply; the server updates the annotation when it applies."""
_ANNOTATION: Final[dict[str, Any]] = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}
_SERVER_METADATA: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""Metadata that the server sets with every write."""
LOGGER_NAME: Final = "masthead.client.migration"
_log: Final = logging.getLogger(LOGGER_NAME)


def client_side_appliers(obj: Object) -> tuple[str, ...]:
    """Return the managers who have applied an object client-side: those whose updates own kubectl's annotation."""
    if LAST_APPLIED not in obj.metadata.annotations:
        return ()
    owners = find_fields_owners(obj, "Update", _ANNOTATION)
    return tuple(dict.fromkeys(owner.manager or "" for owner in owners))


def annotation_to_keep(obj: Object, field_manager: str) -> dict[str, Any] | None:
    """Return the configuration by which `ANNOTATION_MANAGER` keeps the annotation; None if it need not keep it."""
    text = obj.metadata.annotations.get(LAST_APPLIED)
    # Only kubectl itself relies on the annotation afterwards.
    if field_manager != _KUBECTL or text is None or find_fields_owners(obj, "Apply", _ANNOTATION):
        return None
    return {
        "apiVersion": obj.api_version,
        "kind": obj.kind,
        "metadata": {"name": obj.metadata.name, "annotations": {LAST_APPLIED: text}},
    }


async def apply_and_migrate(
    resource: ResourceClient[T],
    obj: T,
    *,
    field_manager: str | None,
    force: bool,
    dry_run: bool,
    field_validation: FieldValidation | None,
    timeout: float | None,
) -> T:
    """Apply an object with server-side apply, and end its client-side apply if there was one.

    The options are those of `ResourceClient.apply`. Where client-side apply alone has set the values that conflict, its
    fields are handed over first. Otherwise the migration follows the apply; a failure is logged, and the next
    apply tries again.

    differs from kubectl, whose server-side apply has a conflict with its own client-side apply in every changed field.

    Raises:
        MastheadError: As for `ResourceClient.apply`.
    """

    async def apply(*, force: bool = force) -> T:
        return await resource.apply(
            obj,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def preview(applied: T) -> T:
        try:
            return await _preview_removals(resource, applied, field_manager, timeout)
        except MastheadError as error:
            _warn_of_hidden_removals(applied, str(error))
            return applied

    try:
        applied = await apply()
    except ApplyConflictError as error:
        if not await _is_with_client_side_apply(resource, obj, error, timeout):
            raise
        # The same configuration, in its next version: what client-side apply has set was set for the same purpose.
        if dry_run:
            return await preview(await apply(force=True))
        await resource.upgrade_managed_fields(obj.metadata.name, field_manager=field_manager, timeout=timeout)
        return await apply()
    if not client_side_appliers(applied):
        return applied
    if dry_run:
        return await preview(applied)
    try:
        await resource.upgrade_managed_fields(applied.metadata.name, field_manager=field_manager, timeout=timeout)
        return await apply()
    except MastheadError as error:
        _log.warning("%s %s is still applied client-side, too: %s", applied.kind, applied.key, str(error))
        return applied


async def _is_with_client_side_apply(
    resource: ResourceClient[T], obj: T, conflict: ApplyConflictError, timeout: float | None
) -> bool:
    """Whether an apply conflicts with nothing but fields that client-side apply has set."""
    # A conflict with server-side apply, or with a controller that writes the status, is a real one.
    if any(owned.operation != "Update" or owned.subresource for owned in conflict.conflicts):
        return False
    found = await resource.get(obj.metadata.name, timeout=timeout)
    return {owned.manager for owned in conflict.conflicts} <= {*client_side_appliers(found)}


async def _preview_removals(
    resource: ResourceClient[T], applied: T, field_manager: str | None, timeout: float | None
) -> T:
    """Return the object that a migration would leave.

    Args:
        resource: The resource.
        applied: The result of a dry run, in which client-side apply still owns its fields.
        field_manager: The field manager of the apply.
        timeout: Timeout of each call, in seconds.

    Raises:
        MastheadError: If it cannot be computed, or the server refuses it.
    """
    from masthead._schema.field_removal import remove_fields_of  # the merge engine takes long to load

    managers = client_side_appliers(applied)

    def is_client_side(entry: ManagedFieldsEntry) -> bool:
        return entry.operation == "Update" and entry.manager in managers and not entry.subresource

    entries = applied.metadata.managed_fields
    client_side = [entry for entry in entries if is_client_side(entry)]
    # Fields of another API version may have other names, so that they cannot be compared.
    abandoned = [entry for entry in client_side if entry.api_version == applied.api_version]
    if versions := {str(entry.api_version) for entry in client_side if entry not in abandoned}:
        _warn_of_hidden_removals(applied, f"some were set in {', '.join(sorted(versions))}")
    live = await resource.upgrade_managed_fields(
        applied.metadata.name, field_manager=field_manager, dry_run=True, timeout=timeout
    )
    kept = [entry for entry in entries if not is_client_side(entry)]
    known = {entry.manager for entry in kept}
    kept += [
        entry
        for entry in live.metadata.managed_fields
        if entry.manager == ANNOTATION_MANAGER and entry.manager not in known
    ]
    left = remove_fields_of(applied, abandoned, kept)
    previewed = await resource.patch(
        applied.metadata.name,
        Patch.merge(merge_patch(_content_of(live.to_dict()), _content_of(left))),
        field_manager=field_manager,
        dry_run=True,
        timeout=timeout,
    )
    previewed.metadata.managed_fields = kept
    return previewed


def _warn_of_hidden_removals(applied: Object, reason: str) -> None:
    _log.warning(
        "%s %s was applied client-side; fields that an apply would remove are not all shown: %s",
        applied.kind,
        applied.key,
        reason,
    )


def _content_of(plain: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in plain["metadata"].items() if name not in _SERVER_METADATA}
    return {**plain, "metadata": metadata}
