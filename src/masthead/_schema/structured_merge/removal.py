"""Removal: a value without the fields of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.field_sets import is_member
from masthead._schema.path_elements import field_element
from masthead._schema.schema import is_list, is_object
from masthead._schema.structured_merge.items import item_element
from masthead._schema.structured_merge.types import MapType

if TYPE_CHECKING:
    from masthead._schema.field_sets import FieldSet, Node
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import ListType, MergeType

__all__ = ["remove_items"]


def remove_items(value: Json, fields: FieldSet, of: MergeType) -> Json:
    """Return a value without the fields and items of a set, and everything in them.

    A map or list that becomes empty is null, as in kube-apiserver; decoding drops it.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    return _remove(value, fields.root, of) if fields else value


def _remove(value: Json, node: Node, of: MergeType | None) -> Json:
    form = None if of is None else of.form(value)
    if form is None:
        return value
    # Nothing of it can be removed alone, and no item is left.
    if form.is_atomic or not value:
        return None
    if isinstance(form, MapType):
        return _remove_fields(value, node, form) if is_object(value) else None
    return _remove_from_list(value, node, form) if is_list(value) else None


def _remove_fields(value: dict[str, Json], node: Node, of: MapType) -> dict[str, Json] | None:
    left: dict[str, Json] = {}
    for name, inner in value.items():
        below = node.get(field_element(name))
        if below is None:
            left[name] = inner
        # A member goes as a whole; otherwise only its fields below.
        elif not is_member(below):
            left[name] = _remove(inner, below, of.type_of(name))
    # An empty map or list becomes null, as the server does it.
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
