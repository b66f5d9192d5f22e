"""Removal and extraction: a value without the fields of a set, or with nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.field_sets import has_children, is_member
from masthead._schema.path_elements import field_element
from masthead._schema.structured_merge.items import item_element
from masthead._schema.structured_merge.types import MapType

if TYPE_CHECKING:
    from masthead._schema.field_sets import FieldSet, Node
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import ListType, MergeType

__all__ = ["extract_items", "remove_items"]


def remove_items(value: Json, fields: FieldSet, of: MergeType) -> Json:
    """Return a value without the fields and items of a set, and all that is in them.

    What has nothing left becomes null, as it does in kube-apiserver; decoding drops it.
    """
    return _remove(value, fields.root, of) if fields else value


def _remove(value: Json, node: Node, of: MergeType | None) -> Json:
    form = None if of is None else of.form(value)
    if form is None:
        return value
    if form.is_atomic or not value:
        return None
    if isinstance(form, MapType):
        return _remove_fields(value, node, form) if isinstance(value, dict) else None
    return _remove_from_list(value, node, form) if isinstance(value, list) else None


def _remove_fields(value: dict[str, Json], node: Node, of: MapType) -> dict[str, Json] | None:
    left: dict[str, Json] = {}
    for name, each in value.items():
        below = node.get(field_element(name))
        if below is None:
            left[name] = each
        elif not is_member(below):
            left[name] = _remove(each, below, of.type_of(name))
    return left or None


def _remove_from_list(value: list[Json], node: Node, of: ListType) -> list[Json] | None:
    left: list[Json] = []
    for item in value:
        below = node.get(item_element(item, of))
        if below is None:
            left.append(item)
        elif not is_member(below):
            left.append(_remove(item, below, of.items))
    return left or None


def extract_items(value: Json, fields: FieldSet, of: MergeType) -> Json:
    """Return a value with nothing but the fields and items of a set; items keep their keys.

    A map or list that is owned, but nothing in it, is empty: its owner has set it so. What is atomic is taken whole.
    """
    return _extract(value, fields.root, of)


def _extract(value: Json, node: Node, of: MergeType | None) -> Json:
    form = None if of is None else of.form(value)
    if form is None or form.is_atomic or not value:
        return value
    if isinstance(form, MapType):
        return _extract_fields(value, node, form) if isinstance(value, dict) else value
    return _extract_from_list(value, node, form) if isinstance(value, list) else value


def _extract_fields(value: dict[str, Json], node: Node, of: MapType) -> dict[str, Json]:
    return {
        name: _extract(each, below, of.type_of(name))
        for name, each in value.items()
        if (below := node.get(field_element(name))) is not None
    }


def _extract_from_list(value: list[Json], node: Node, of: ListType) -> list[Json]:
    found: list[Json] = []
    for item in value:
        below = node.get(item_element(item, of))
        if below is None:
            continue
        part = _extract(item, below, of.items) if has_children(below) else {}
        # Without its keys, the item could not be applied again.
        found.append({**_keys_of(item, of), **part} if isinstance(item, dict) else item)
    return found


def _keys_of(item: dict[str, Json], of: ListType) -> dict[str, Json]:
    return {name: item[name] for name in of.keys if name in item}
