"""Applies the difference of two recorded states to an object that clients have written, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["merge_change"]

_ABSENT: Final = object()
_KEPT: Final = ("uid", "creationTimestamp")
"""The identity of the object on the server, which a change does not replace."""
_NAMES: Final = (("uid",), ("type",), ("manager", "operation", "subresource"), ("name",), ("key",), ("ip",))
"""Fields that name the items of a list."""


def merge_change(before: Plain, after: Plain, current: Plain) -> Plain:
    """Return the current object with what differs between the two others.

    Items of lists are identified by the fields that name them; lists without such fields are replaced.
    """
    merged = cast("Plain", _merge(before, after, current))
    meta, known = merged["metadata"], current["metadata"]
    for field in _KEPT:
        if field in known:
            meta[field] = known[field]
    # Both sides count changes of the spec: the sum is what a server would have counted.
    if "generation" in known:
        old, new = (cast("Plain", part.get("metadata", {})).get("generation", 0) for part in (before, after))
        meta["generation"] = known["generation"] + (max(0, new - old) if old else 0)
    return merged


def _merge(before: object, after: object, current: object) -> object:
    merged: object = after
    if before == after:
        merged = current
    elif isinstance(after, dict) and isinstance(current, dict):
        old = cast("Plain", before) if isinstance(before, dict) else {}
        merged = _merge_fields(old, cast("Plain", after), cast("Plain", current))
    elif isinstance(after, list) and isinstance(current, list):
        old_items = cast("list[object]", before) if isinstance(before, list) else []
        merged = _merge_items(old_items, cast("list[object]", after), cast("list[object]", current))
    return merged


def _merge_fields(before: Plain, after: Plain, current: Plain) -> Plain:
    merged: Plain = {}
    # The order of the current object first, so that it stays.
    for field in {**current, **after}:
        old, new, now = (part.get(field, _ABSENT) for part in (before, after, current))
        value = _merge(old, new, now)
        if value is not _ABSENT:
            merged[field] = value
    return merged


def _merge_items(before: list[object], after: list[object], current: list[object]) -> list[object]:
    lists = (before, after, current)
    keyed = next((keys for names in _NAMES if None not in (keys := [_by_name(items, names) for items in lists])), None)
    if keyed is not None:
        old, new, now = (cast("Plain", items) for items in keyed)
        return list(_merge_fields(old, new, now).values())
    if any(isinstance(item, dict | list) for items in lists for item in items):
        return after
    # Finalizers, say: additions and removals.
    kept = [item for item in current if item not in before or item in after]
    return [*kept, *(item for item in after if item not in before and item not in kept)]


def _by_name(items: list[object], names: tuple[str, ...]) -> Plain | None:
    """Return the items by the fields that name them; None if those do not."""
    found: Plain = {}
    for item in items:
        if not isinstance(item, dict) or names[0] not in item:
            return None
        fields = cast("Plain", item)
        found[repr([fields.get(name) for name in names])] = item
    return found if len(found) == len(items) else None
