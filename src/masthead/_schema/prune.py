"""Pruning: fields that a structural schema does not declare are dropped."""

from __future__ import annotations

from typing import Final

from masthead._schema.schema import CONTAINERS, Json, Schema, is_list, is_object

__all__ = ["META_FIELDS", "drop_nulls", "prune"]

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""The fields of every whole object; its schema need not declare them."""


def prune(value: Json, schema: Schema | None, *, is_object: bool = True) -> list[str]:
    """Drop the fields that a schema does not declare, in place.

    Args:
        value: The value, plain JSON.
        schema: Its structural schema; without one, nothing is declared.
        is_object: Whether the value is a whole object, which keeps apiVersion, kind and metadata.

    Returns:
        The paths that were dropped, sorted as kube-apiserver reports them: ``spec.list[0].x``.
    """
    dropped: list[str] = []
    if is_object and not is_list(value):
        schema = schema or Schema()
        _prune_object(value, schema, "", dropped, is_whole=True, keeps_unknown=bool(schema.preserve_unknown))
    else:
        _prune(value, schema, "", dropped)
    dropped.sort()
    return dropped


def _prune(value: Json, schema: Schema | None, path: str, dropped: list[str]) -> None:
    keeps_unknown = schema is not None and bool(schema.preserve_unknown)
    if is_list(value):
        items = None if schema is None else schema.items
        for index, item in enumerate(value):
            if item.__class__ in CONTAINERS:
                _prune_item(item, items, f"{path}[{index}]", dropped, keeps_unknown=keeps_unknown)
    elif schema is not None:
        _prune_object(value, schema, path, dropped, is_whole=schema.embedded_resource, keeps_unknown=keeps_unknown)
    elif is_object(value):
        dropped.extend(_child(path, key) for key in value)
        value.clear()


def _prune_item(item: Json, schema: Schema | None, path: str, dropped: list[str], *, keeps_unknown: bool) -> None:
    """Prune an item. In a list that keeps unknown fields, its items do so, too."""
    if not keeps_unknown:
        _prune(item, schema, path, dropped)
    elif schema is not None and is_object(item):
        _prune_object(item, schema, path, dropped, is_whole=schema.embedded_resource, keeps_unknown=True)
    elif schema is not None:
        for index, element in enumerate(item):
            if element.__class__ in CONTAINERS:
                _prune_item(element, schema.items, f"{path}[{index}]", dropped, keeps_unknown=True)


def _prune_object(
    value: Json, schema: Schema, path: str, dropped: list[str], *, is_whole: bool, keeps_unknown: bool
) -> None:
    if not is_object(value):
        return
    properties = schema.properties
    values = schema.additional_properties
    unknown: list[str] = []
    for key, inner in value.items():
        if is_whole and key in META_FIELDS:
            continue
        if (field := properties.get(key)) is not None:
            if inner.__class__ in CONTAINERS:
                _prune(inner, field, _child(path, key), dropped)
        elif values is not None:
            if inner.__class__ in CONTAINERS:
                # ``additionalProperties: true`` declares the keys, but nothing about their values.
                declared = values if isinstance(values, Schema) else None
                _prune(inner, declared, _child(path, key), dropped)
        elif not keeps_unknown:
            unknown.append(key)
    for key in unknown:
        del value[key]
        if path or key not in META_FIELDS:
            dropped.append(_child(path, key))


def _child(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def drop_nulls(value: Json, schema: Schema | None) -> None:
    """Drop the fields that are null, although their schema neither allows null nor has a default, in place.

    Fields with a default get it from `masthead._schema.defaulting.apply_defaults`. Items of lists stay.

    Args:
        value: The value, plain JSON.
        schema: Its structural schema.
    """
    if is_object(value) and schema is not None:
        nulls: list[str] = []
        for key, inner in value.items():
            if inner is None:
                nulls.append(key)
            elif inner.__class__ in CONTAINERS:
                drop_nulls(inner, _schema_of_field(schema, key))
        for key in nulls:
            if _drops_null(schema, key):
                del value[key]
    elif is_list(value) and schema is not None and schema.items is not None:
        for item in value:
            if item.__class__ in CONTAINERS:
                drop_nulls(item, schema.items)


def _schema_of_field(schema: Schema, key: str) -> Schema | None:
    found = schema.properties.get(key)
    if found is None and isinstance(schema.additional_properties, Schema):
        found = schema.additional_properties
    return found


def _drops_null(schema: Schema, key: str) -> bool:
    field = _schema_of_field(schema, key)
    # A default of null does not count.
    return field is not None and not field.nullable and (not field.has_default or field.default is None)
