"""Ownership: the field set of a value, which a manager owns after applying it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.field_sets import LEAF, FieldSet, with_self
from masthead._schema.path_elements import field_element
from masthead._schema.structured_merge.items import items_by_element
from masthead._schema.structured_merge.types import ListType, MapType

if TYPE_CHECKING:
    from masthead._schema.field_sets import Node
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["field_set_of", "named_fields"]

_SCALARS: Final = frozenset({str, int, float, bool})


def field_set_of(value: Json, of: MergeType) -> FieldSet:
    """Return the fields and items of a value.

    Members are scalars, atomic values, list items, map entries, and fields that are null or an empty map. Structs and
    lists that are not empty are not members themselves.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    return FieldSet(_node_of(value, of))


def _node_of(value: Json, of: MergeType | None) -> Node | None:
    """The node of a value; None if neither it nor anything below is a member."""
    form = None if of is None else of.form(value)
    if form is None or form.is_atomic:
        return LEAF
    if isinstance(form, MapType):
        return _node_of_map(value, form) if value.__class__ is dict else None
    return _node_of_list(value, form) if value.__class__ is list else None


def _node_of_map(value: dict[str, Json], of: MapType) -> Node | None:
    found: Node = {}
    for name, inner in value.items():
        type_ = of.type_of(name)
        # A shortcut for scalars, which are most values.
        if inner.__class__ in _SCALARS and (type_ is None or type_.scalar is not None):
            found[field_element(name)] = LEAF
            continue
        node = _node_of(inner, type_)
        if inner is None or inner == {} or not of.declares(name):
            node = with_self(node)
        if node is not None:
            found[field_element(name)] = node
    return found or None


def _node_of_list(value: list[Json], of: ListType) -> Node | None:
    found: Node = {}
    for element, items in items_by_element(value, of).items():
        # Duplicates are owned as one, without their fields.
        found[element] = with_self(_node_of(items[0], of.items)) if len(items) == 1 else LEAF
    return found or None


def named_fields(fields: FieldSet, of: MergeType) -> FieldSet:
    """Return a set with the structs that contain its members added as members."""
    return FieldSet(_add_structs(fields.root, of))


def _add_structs(node: Node, of: MergeType | None) -> Node:
    if not node:
        return node
    found: Node = {}
    for element, below in node.items():
        found[element] = below
        if not below:
            continue
        type_, is_named = _type_below(element, of)
        inner = _add_structs(below, type_)
        found[element] = with_self(inner) if is_named else inner
    return found


def _type_below(element: str, of: MergeType | None) -> tuple[MergeType | None, bool]:
    """The type below an element, and whether it is a declared field."""
    if of is not None and element.startswith("f:") and of.map_type is not None:
        name = element[2:]
        return of.map_type.type_of(name), of.map_type.declares(name)
    if of is not None and element.startswith("k:") and of.list_type is not None:
        return of.list_type.items, False
    return None, False
