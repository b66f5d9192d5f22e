"""From client-side to server-side apply, as ``kubectl apply --server-side`` does it.

The managers that have updated kubectl's annotation are those that applied the object client-side. Their fields are handed over
to the manager of server-side apply (`masthead.upgrade_managed_fields`), and the configuration is applied again, which removes
the fields that it no longer contains. It removes the annotation, too, except for the manager ``kubectl``: the server keeps the
annotation of that manager up to date.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from masthead._client.last_applied import LAST_APPLIED
from masthead._meta.object import Object
from masthead._schema.managed_fields_upgrade import find_fields_owners
from masthead.errors import ApplyConflictError, MastheadError

if TYPE_CHECKING:
    from masthead._client.options import FieldValidation
    from masthead._client.resource import ResourceClient

__all__ = ["ANNOTATION_MANAGER", "annotation_to_keep", "apply_and_migrate", "client_side_appliers"]

T = TypeVar("T", bound=Object)

ANNOTATION_MANAGER: Final = "kubectl-last-applied"
"""The field manager by which kubectl keeps the annotation."""

_KUBECTL: Final = "kubectl"
"""kubectl's field manager of server-side apply; the server updates the annotation when it applies."""
_ANNOTATION: Final[dict[str, Any]] = {"f:metadata": {"f:annotations": {f"f:{LAST_APPLIED}": {}}}}
_log: Final = logging.getLogger("masthead.client")


def client_side_appliers(obj: Object) -> tuple[str, ...]:
    """Return the managers who have applied an object client-side: those whose updates own kubectl's annotation."""
    if LAST_APPLIED not in obj.metadata.annotations:
        return ()
    owners = find_fields_owners(obj, "Update", _ANNOTATION)
    return tuple(dict.fromkeys(each.manager or "" for each in owners))


def annotation_to_keep(obj: Object, field_manager: str) -> dict[str, Any] | None:
    """Return the configuration by which `ANNOTATION_MANAGER` keeps the annotation; None if it need not keep it."""
    text = obj.metadata.annotations.get(LAST_APPLIED)
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

    The options are those of `ResourceClient.apply`. Where client-side apply alone has set the values that conflict, its fields
    are handed over first. Otherwise the migration follows the apply; if it fails, the log says so, and the next apply
    tries again.

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

    try:
        applied = await apply()
    except ApplyConflictError as error:
        if not await _is_with_client_side_apply(resource, obj, error, timeout):
            raise
        # The same configuration, in its next version: what client-side apply has set was set for the same purpose.
        if dry_run:
            return await apply(force=True)
        await resource.upgrade_managed_fields(obj.metadata.name, field_manager=field_manager, timeout=timeout)
        return await apply()
    if dry_run or not client_side_appliers(applied):
        return applied
    try:
        await resource.upgrade_managed_fields(
            applied.metadata.name, field_manager=field_manager, timeout=timeout
        )
        return await apply()
    except MastheadError as error:
        _log.warning("%s %s is still applied client-side, too: %s", applied.kind, applied.key, error)
        return applied


async def _is_with_client_side_apply(
    resource: ResourceClient[T], obj: T, conflict: ApplyConflictError, timeout: float | None
) -> bool:
    """Whether an apply conflicts with nothing but fields that client-side apply has set."""
    if any(owned.operation != "Update" or owned.subresource for owned in conflict.conflicts):
        return False
    found = await resource.get(obj.metadata.name, timeout=timeout)
    return {owned.manager for owned in conflict.conflicts} <= {*client_side_appliers(found)}
