"""Hand the fields of client-side apply over to server-side apply.

Client-side apply owns the fields that it sets by an ``Update``. If the same configuration is then applied with
server-side apply, the fields have two owners: a changed value conflicts, and a field that the configuration drops
stays. So the entry of the ``Update`` becomes one of an ``Apply``, or is merged into an existing one::

    kubectl-client-side-apply  Update  .spec.replicas, .spec.paused ─┐
    my-manager                 Apply   .spec.replicas                ├─> my-manager  Apply  .spec.replicas, .spec.paused
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from masthead._meta.patch import Patch
from masthead._module import set_module
from masthead._schema.field_sets import FieldSet
from masthead.errors import ArgumentError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._meta.metadata import ManagedFieldsEntry
    from masthead._meta.object import Object
    from masthead._meta.shape import FieldsV1

__all__ = ["find_fields_owners", "upgrade_managed_fields", "upgrade_managed_fields_patch"]


@set_module("masthead.managed_fields")
def find_fields_owners(
    obj: Object, operation: Literal["Apply", "Update"], fields: Mapping[str, object]
) -> list[ManagedFieldsEntry]:
    """Find the managers who own all of the given fields.

    Args:
        obj: An unmodified object with its managed fields.
        operation: The operation by which they own them: ``Apply`` or ``Update``.
        fields: The fields in the FieldsV1 format, such as ``{"f:spec": {"f:replicas": {}}}``.

    Returns:
        Their entries, without those whose fields cannot be decoded.

    Raises:
        DecodeError: If `fields` is invalid.
    """
    wanted = FieldSet.from_fields_v1(fields)
    return [entry for entry in obj.metadata.managed_fields if entry.operation == operation and _owns(entry, wanted)]


@set_module("masthead.managed_fields")
def upgrade_managed_fields(
    obj: Object, csa_managers: str | Iterable[str], ssa_manager: str, *, subresource: str = ""
) -> list[ManagedFieldsEntry]:
    """Compute the managed fields of an object whose fields server-side apply takes over from client-side apply.

    The fields that some managers have updated become fields that another one has applied. This works before and after
    the first server-side apply, and cannot be undone.

    Args:
        obj: An object with its managed fields; the function does not modify it.
        csa_managers: The managers who have applied it client-side, such as ``kubectl-client-side-apply``.
        ssa_manager: The field manager of server-side apply.
        subresource: The subresource that they have written: ``status``, ``scale``; empty for the object itself.

    Returns:
        The new entries; the entries of the object if none of these managers has updated it.

    Raises:
        ArgumentError: If `ssa_manager` is empty.
        DecodeError: If the managed fields cannot be decoded.
    """
    if not ssa_manager:
        raise ArgumentError("name the field manager that takes over: ssa_manager", value="")
    entries = list(obj.metadata.managed_fields)
    for csa_manager in [csa_managers] if isinstance(csa_managers, str) else csa_managers:
        entries = _upgrade(entries, csa_manager, ssa_manager, subresource)
    return entries


@set_module("masthead.managed_fields")
def upgrade_managed_fields_patch(
    obj: Object, csa_managers: str | Iterable[str], ssa_manager: str, *, subresource: str = ""
) -> Patch | None:
    """Compute the JSON patch that stores what `upgrade_managed_fields` returns.

    If the object has changed since it was read, the server refuses the patch with a conflict, and nothing changes.

    Args:
        obj: An unmodified object with its managed fields.
        csa_managers: See `upgrade_managed_fields`.
        ssa_manager: See `upgrade_managed_fields`.
        subresource: See `upgrade_managed_fields`.

    Returns:
        The patch; None if there is nothing to change.

    Raises:
        ArgumentError: If `ssa_manager` is empty.
        DecodeError: If the managed fields cannot be decoded.
    """
    entries = upgrade_managed_fields(obj, csa_managers, ssa_manager, subresource=subresource)
    # Nothing to do: the caller can skip the request.
    if entries == obj.metadata.managed_fields:
        return None
    return Patch.json(
        [
            {
                "op": "replace",
                "path": "/metadata/managedFields",
                "value": [entry.to_dict() for entry in entries],
            },
            # Not "test", whose failure would be an invalid patch instead of a conflict.
            {"op": "replace", "path": "/metadata/resourceVersion", "value": obj.metadata.resource_version},
        ]
    )


def _upgrade(
    entries: list[ManagedFieldsEntry], csa_manager: str, ssa_manager: str, subresource: str
) -> list[ManagedFieldsEntry]:
    def find(manager: str, operation: str) -> list[ManagedFieldsEntry]:
        wanted = (manager, operation, subresource)
        return [entry for entry in entries if (entry.manager, entry.operation, entry.subresource or "") == wanted]

    updates = find(csa_manager, "Update")
    # Another run has upgraded the object already.
    if not updates:
        return entries
    # The server lists the newest entry first.
    target = next(iter([*find(ssa_manager, "Apply"), *updates]))
    fields = _fields_of(target)
    for update in updates:
        # The fields of other versions are dropped: the names of the same field may differ between versions.
        if update.api_version == target.api_version:
            fields |= _fields_of(update)
    applied = target.copy()
    applied.manager, applied.operation = ssa_manager, "Apply"
    applied.fields_v1 = cast("FieldsV1", fields.to_fields_v1())
    kept = [entry for entry in entries if entry is target or not any(entry is update for update in updates)]
    return [applied if entry is target else entry for entry in kept]


def _owns(entry: ManagedFieldsEntry, wanted: FieldSet) -> bool:
    try:
        return not wanted - _fields_of(entry)
    except DecodeError:
        return False


def _fields_of(entry: ManagedFieldsEntry) -> FieldSet:
    return FieldSet.from_fields_v1(entry.fields_v1 or {})
