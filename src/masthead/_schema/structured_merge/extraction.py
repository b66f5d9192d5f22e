"""Extraction: an object reduced to the fields of a set."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from masthead._schema.field_sets import LEAF, SELF, has_children, union
from masthead._schema.path_elements import field_element, key_names, split_element
from masthead._schema.schema import Definitions, Schema, is_list, is_object
from masthead._schema.structured_merge.items import item_element
from masthead._schema.structured_merge.types import MapType, merge_type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._schema.field_sets import FieldSet, Node
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import ListType, MergeType

__all__ = ["extract_items", "schema_of_fields"]

_ZEROS: Final[Mapping[str | None, Json]] = {"string": "", "numeric": 0, "boolean": False}
_WHOLE: Final = Schema(map_type="atomic")
"""The schema of any value that is owned as a whole."""


def extract_items(value: Json, fields: FieldSet, of: MergeType) -> Json:
    """Return an object reduced to the fields and items of a set, so that applying it changes neither values nor owners.

    - Items keep their keys, even if these are not in the set; keys with default values may be left out.
    - A map or list that is owned without anything in it is empty, as its owner applied it. Atomic values are taken
      whole.
    - A declared field that is owned but absent gets its zero value: the server omits zero values.
    - Where the type does not declare a value, or declares it as atomic although the set names parts of it, the set
      decides.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    return _extract(value, fields.root, of) if fields else {}


def _extract(value: Json, node: Node, of: MergeType | None) -> Json:
    form = None if of is None or of.is_deduced else of.form(value)
    # Where the type does not declare it, or has changed since, the set decides.
    if form is None or (form.is_atomic and has_children(node)):
        form = merge_type_of(schema_of_fields(node), Definitions()).form(value)
    if form is None or form.is_atomic:
        return value
    if isinstance(form, MapType):
        return _extract_fields(value, node, form) if is_object(value) else value
    return _extract_from_list(value, node, form) if is_list(value) else value


def _extract_fields(value: dict[str, Json], node: Node, of: MapType) -> dict[str, Json]:
    found = {
        name: _extract(inner, below, of.type_of(name))
        for name, inner in value.items()
        if (below := node.get(field_element(name))) is not None
    }
    for element, below in node.items():
        kind, name = split_element(element)
        if kind == "f" and name not in value and of.declares(name):
            zero = _zero(below, of.type_of(name))
            if zero is not None:
                found[name] = zero
    return found


def _zero(node: Node, of: MergeType | None) -> Json:
    """The value that an absent field was applied with; None if it cannot be known."""
    if of is None or of.scalar is not None:
        return None if of is None else _ZEROS.get(of.scalar)
    if not has_children(node):
        return [] if of.list_type is not None else {}
    return None if of.map_type is None else _extract_fields({}, node, of.map_type) or None


def _extract_from_list(value: list[Json], node: Node, of: ListType) -> list[Json]:
    found: list[Json] = []
    for item in value:
        below = node.get(item_element(item, of))
        if below is not None:
            part = _extract(item, below, of.items)
            found.append({**_keys_of(item, part, of), **part} if of.keys else part)
    return found


def _keys_of(item: dict[str, Json], part: dict[str, Json], of: ListType) -> dict[str, Json]:
    """Return the keys that an applied item needs. Keys with defaults are left out, or the manager would own them."""
    items = of.items.map_type
    # A manager that applied one key has applied all keys without defaults.
    is_applied = any(name in part for name in of.keys)
    keys: dict[str, Json] = {}
    for name in of.keys:
        default = None if items is None else items.default_of(name)
        if name in item and (not is_applied if default is None else item[name] != default):
            keys[name] = item[name]
    return keys


def schema_of_fields(node: Node) -> Schema:
    """The schema that a set implies: a value without members in it is owned as a whole."""
    if not has_children(node):
        return _WHOLE
    elements = {element: below for element, below in node.items() if element != SELF}
    if keys := {name for element in elements for name in key_names(element)}:
        items = functools.reduce(union, elements.values(), None)
        return Schema(
            type="array",
            list_type="map",
            list_map_keys=tuple(sorted(keys)),
            items=schema_of_fields(items or LEAF),
        )
    if any(split_element(element)[0] == "v" for element in elements):
        return Schema(type="array", list_type="set", items=_WHOLE)
    properties = {split_element(element)[1]: schema_of_fields(below) for element, below in elements.items()}
    return Schema(type="object", properties=properties)
