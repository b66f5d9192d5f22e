"""Defaulting: fields that are missing get the defaults of a structural schema."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from masthead._schema.schema import Json, Schema, is_list, is_object

__all__ = ["apply_defaults", "copied"]


_SCALARS: Final = (str, int, float)


def apply_defaults(value: Json, schema: Schema | None) -> None:
    """Set the defaults of a schema where fields are missing, or null although null is not allowed, in place.

    Defaults are set from the outside in: those within a default are set, too. A value never shares a default
    with the schema.

    Args:
        value: The value, plain JSON.
        schema: Its structural schema.
    """
    if schema is None:
        return
    if is_object(value):
        _default_object(value, schema)
    elif is_list(value) and schema.items is not None:
        items = schema.items
        for index, each in enumerate(value):
            if each is None and not items.nullable:
                value[index] = _default_of(items)
            apply_defaults(value[index], items)


def _default_object(value: dict[str, Json], schema: Schema) -> None:
    properties = schema.properties
    for key, field in properties.items():
        default = field.default
        # A default of null is none.
        if default is UNSET or default is None:
            continue
        if key not in value or (value[key] is None and not field.nullable):
            value[key] = copied(default)
    values = schema.additional_properties if isinstance(schema.additional_properties, Schema) else None
    for key, each in value.items():
        declared = properties.get(key)
        if declared is None and values is not None:
            declared = values
            if each is None and not values.nullable:
                value[key] = _default_of(values)
        if declared is not None and not isinstance(each, _SCALARS):
            apply_defaults(value[key], declared)


def _default_of(schema: Schema) -> Json:
    return copied(schema.default) if schema.has_default else None


def copied(value: Json) -> Json:
    """Return a copy of plain JSON that shares nothing that can be changed."""
    if is_object(value):
        return {key: copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if is_list(value) else value
