"""Comparison: the fields that a write adds, modifies and removes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from masthead._schema.field_sets import LEAF, SELF, FieldSet, union
from masthead._schema.schema import CONTAINERS
from masthead._schema.structured_merge.items import items_by_element
from masthead._schema.structured_merge.types import MapType

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._schema.field_sets import Node
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import Form, ListType, MergeType

__all__ = ["Comparison", "compare", "equal"]

_encode: Final = msgspec.json.Encoder().encode


class Comparison(NamedTuple):
    """How two values of one type differ; no path is in two of the sets.

    Attributes:
        added: The fields that only the new value has.
        modified: The fields that both have, with different values.
        removed: The fields that only the old value has.
    """

    added: FieldSet = FieldSet()
    modified: FieldSet = FieldSet()
    removed: FieldSet = FieldSet()

    def filter(self, keep: Callable[[FieldSet], FieldSet]) -> Comparison:
        """Apply a filter to each set."""
        added, modified, removed = self
        return Comparison(
            keep(added) if added.root else added,
            keep(modified) if modified.root else modified,
            keep(removed) if removed.root else removed,
        )


def equal(one: Json, other: Json) -> bool:
    """Tell whether two values are equal; unlike in Python, a boolean never equals a number."""
    # Python's comparison is fast, but equates 1 and True, so equal values are checked again below.
    if one != other:
        return False
    kind = one.__class__
    if kind is dict or kind is list:
        # Encoding is several times faster than a walk, and few equal values have different encodings.
        return _encode(one) == _encode(other) or _same_booleans(one, other)
    return (kind is bool) == (other.__class__ is bool)


def _same_booleans(one: Json, other: Json) -> bool:
    if one.__class__ is dict:
        return all(_same_booleans(inner, other[name]) for name, inner in one.items())
    if one.__class__ is list:
        return all(map(_same_booleans, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def compare(old: Json, new: Json, of: MergeType) -> Comparison:
    """Compare two values of one type.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    found = _compare(old, new, of)
    return _SAME if found is _EQUAL else Comparison(*map(FieldSet, (found.added, found.modified, found.removed)))


class _Nodes(msgspec.Struct, frozen=True, gc=False):
    """The nodes of one value in the three sets of a comparison; None where it has no members."""

    added: dict[str, Any] | None = None
    modified: dict[str, Any] | None = None
    removed: dict[str, Any] | None = None


_SAME: Final = Comparison()
_EQUAL: Final = _Nodes()
_MODIFIED: Final = _Nodes(modified=LEAF)


def _compare(old: Json, new: Json, of: MergeType | None) -> _Nodes:
    if of is None:
        return _EQUAL if equal(old, new) else _MODIFIED
    # The usual case first: two structs or maps that are merged.
    if old.__class__ is dict and new.__class__ is dict and (old or new):
        form = of.map_type
        if form is not None and not form.is_atomic:
            return _compare_maps(old, new, form)
    before = of.form(old)
    after = before if old.__class__ is new.__class__ else of.form(new)
    found = _compare_as(after, old, new)
    # If the form has changed, the fields of the old form are removed.
    return found if before is after else _both(_compare_as(before, old, new), found)


def _both(one: _Nodes, other: _Nodes) -> _Nodes:
    return _Nodes(
        union(one.added, other.added),
        union(one.modified, other.modified),
        union(one.removed, other.removed),
    )


def _compare_as(form: Form, old: Json, new: Json) -> _Nodes:
    if form is None or form.is_atomic:
        return _EQUAL if equal(old, new) else _MODIFIED
    if isinstance(form, MapType):
        one: dict[str, Json] = old if old.__class__ is dict else {}
        other: dict[str, Json] = new if new.__class__ is dict else {}
        if one or other:
            return _compare_maps(one, other, form)
    else:
        before: list[Json] = old if old.__class__ is list else []
        after: list[Json] = new if new.__class__ is list else []
        if before or after:
            return _compare_lists(before, after, form)
    # Null and empty differ.
    return _EQUAL if equal(old, new) else _MODIFIED


def _compare_maps(old: dict[str, Json], new: dict[str, Json], of: MapType) -> _Nodes:
    # Without calls for scalars and for the nodes of the three sets: this visits every field of every write.
    added: Node = {}
    modified: Node = {}
    removed: Node = {}
    for name, after in new.items():
        element = f"f:{name}"
        if name not in old:
            added[element] = _whole(after, of.type_of(name)) if after and after.__class__ in CONTAINERS else LEAF
            continue
        before = old[name]
        if before.__class__ not in CONTAINERS and after.__class__ not in CONTAINERS:
            # Unlike in Python, a boolean never equals a number.
            if before != after or (before.__class__ is bool) is not (after.__class__ is bool):
                modified[element] = LEAF
        elif before is not after and (before != after or not equal(before, after)):
            below = _compare(before, after, of.type_of(name))
            if below.added is not None:
                added[element] = below.added
            if below.modified is not None:
                modified[element] = below.modified
            if below.removed is not None:
                removed[element] = below.removed
    # Most writes keep all fields, so that this loop is rarely needed.
    if len(old) != len(new) or old.keys() != new.keys():
        for name, before in old.items():
            if name not in new:
                removed[f"f:{name}"] = _whole(before, of.type_of(name))
    return _Nodes(added or None, modified or None, removed or None)


def _compare_lists(old: list[Json], new: list[Json], of: ListType) -> _Nodes:
    added: Node = {}
    modified: Node = {}
    removed: Node = {}
    before, after = items_by_element(old, of), items_by_element(new, of)
    for element in {**before, **after}:
        below = _compare_items(before.get(element, []), after.get(element, []), of.items)
        if below.added is not None:
            added[element] = below.added
        if below.modified is not None:
            modified[element] = below.modified
        if below.removed is not None:
            removed[element] = below.removed
    return _Nodes(added or None, modified or None, removed or None)


def _compare_items(old: list[Json], new: list[Json], of: MergeType) -> _Nodes:
    """Compare the items with one element, of which a list may have duplicates."""
    # Duplicates share one path, so they are compared as a whole.
    if len(old) > 1 and len(new) > 1:
        return _EQUAL if equal(old, new) else _MODIFIED
    if len(old) > 1:
        return _Nodes(added=_whole(new[0], of) if new else None, removed=LEAF)
    if len(new) > 1:
        return _Nodes(added=LEAF, removed=_whole(old[0], of) if old else None)
    if not old:
        return _Nodes(added=_whole(new[0], of))
    if not new:
        return _Nodes(removed=_whole(old[0], of))
    return _EQUAL if equal(old[0], new[0]) else _compare(old[0], new[0], of)


def _whole(value: Json, of: MergeType | None) -> Node:
    """The node of a value that only one side has: the value and everything in it are members."""
    form = None if of is None else of.form(value)
    if form is None or form.is_atomic or not value or value.__class__ not in CONTAINERS:
        return LEAF
    found: Node = {SELF: LEAF}
    if isinstance(form, MapType):
        if value.__class__ is dict:
            for name, inner in value.items():
                # A shortcut for scalars, which are most values.
                has_more = inner and inner.__class__ in CONTAINERS
                found[f"f:{name}"] = _whole(inner, form.type_of(name)) if has_more else LEAF
    elif value.__class__ is list:
        for element, items in items_by_element(value, form).items():
            found[element] = _whole(items[0], form.items) if len(items) == 1 else LEAF
    # An empty list or map is a leaf itself.
    return found if len(found) > 1 else LEAF
