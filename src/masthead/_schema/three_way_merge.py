"""Three-way merge patches (RFC 7386), as kubectl computes them for custom resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from masthead._meta.patch import apply_merge_patch, merge_patch
from masthead._schema.merge_conflicts import have_different_values
from masthead._schema.merge_errors import MergeConflictError, StrategicMergeError
from masthead._schema.merge_order import is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.plain import Plain


__all__ = ["three_way_merge_patch"]


def three_way_merge_patch(
    original: Mapping[str, Any], modified: Mapping[str, Any], current: Mapping[str, Any]
) -> Plain:
    """Compute the merge patch that applies a configuration; none of the states is changed.

    Args:
        original: The configuration that was applied last; empty if it was never applied.
        modified: The configuration to apply.
        current: The object on the server.

    Raises:
        MergeConflictError: If a field is to be changed and deleted.
        StrategicMergeError: If the configuration belongs to another object.
    """
    changes = _keep(merge_patch(current, modified), nulls=False)
    deletions = _keep(merge_patch(original, modified), nulls=True)
    if have_different_values(changes, deletions):
        raise MergeConflictError(changes, deletions)
    patch = cast("Plain", apply_merge_patch(deletions, changes))
    metadata: object = patch.get("metadata")
    if "apiVersion" in patch or "kind" in patch or (is_object(metadata) and "name" in metadata):
        raise StrategicMergeError("At least one of apiVersion, kind and name was changed")
    return patch


def _keep(patch: Plain, *, nulls: bool) -> Plain:
    """Keep the nulls of a patch, which delete fields, or everything else."""
    kept: Plain = {}
    for key, value in patch.items():
        # An empty object is a value, not a patch that changes nothing.
        if is_object(value) and value:
            if nested := _keep(value, nulls=nulls):
                kept[key] = nested
        elif (value is None) == nulls:
            kept[key] = _without_nulls(value)
    return kept


def _without_nulls(value: object) -> object:
    """Drop null fields of the objects in a list, as kubectl's library does."""
    if is_list(value):
        return [_without_nulls(item) for item in value]
    if is_object(value):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value
