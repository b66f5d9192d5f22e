"""Reconciliation: field sets that were written before a part of the schema became atomic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.field_sets import LEAF, FieldSet
from masthead._schema.structured_merge.types import ListType, MapType

if TYPE_CHECKING:
    from masthead._schema.field_sets import Node
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["reconcile"]


def reconcile(fields: FieldSet, of: MergeType) -> FieldSet:
    """Adapt a set to the current type: a manager of parts of a value that has become atomic owns the whole value.

    A value that was atomic and has become granular stays a single member.
    """
    root = _reconcile(fields.root, of)
    return fields if root is fields.root else FieldSet(root, is_sorted=fields.is_sorted)


def _reconcile(node: Node, of: MergeType) -> Node:
    """Reconcile a node with children."""
    form = of.map_type or (None if of.scalar is not None else of.list_type)
    if form is None or (isinstance(form, MapType) and form.is_deduced):
        return node
    if form.is_atomic:
        return LEAF
    found = node
    for element, below in node.items():
        # A member without children is unchanged.
        if not below or (type_ := _type_below(element, form)) is None:
            continue
        if (after := _reconcile(below, type_)) is not below:
            if found is node:
                found = dict(node)
            found[element] = after
    return found


def _type_below(element: str, form: MapType | ListType) -> MergeType | None:
    if isinstance(form, ListType):
        return form.items
    return form.type_of(element[2:]) if element.startswith("f:") else form.values
