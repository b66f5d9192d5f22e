"""Defaulting: fields that are missing get the defaults of a structural schema."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from masthead._schema.schema import Json, Schema, is_list, is_object

__all__ = ["DefaultsTooLarge", "apply_defaults", "copy_json"]


_SCALARS: Final = (str, int, float)
_MAX_VALUES: Final = 60_000
_MAX_CHARACTERS: Final = 6 * 1024 * 1024


class DefaultsTooLarge(ValueError):  # noqa: N818 - the name says what is wrong
    """The defaults of an object have too many values, or too much text.

    Defaults within defaults multiply: with ten nested lists of ten items each, an empty object gets ten billion.
    """

    def __init__(self) -> None:
        super().__init__(f"limit is {_MAX_VALUES} values, and {_MAX_CHARACTERS} characters, of defaults")


def apply_defaults(value: Json, schema: Schema | None) -> None:
    """Set the defaults of a schema where fields are missing, or null although null is not allowed, in place.

    Defaults are set from the outside in: those within a default are set, too. A value never shares a default
    with the schema.

    Args:
        value: The value, plain JSON.
        schema: Its structural schema.

    Raises:
        DefaultsTooLarge: If there are too many of them; some are set by then.
    """
    if schema is not None:
        _Defaulter().apply(value, schema)


class _Defaulter:
    """Sets the defaults of one object, up to a limit of all of them."""

    def __init__(self) -> None:
        self._values = _MAX_VALUES
        self._characters = _MAX_CHARACTERS

    def apply(self, value: Json, schema: Schema) -> None:
        if is_object(value):
            self._apply_to_object(value, schema)
        elif is_list(value) and schema.items is not None:
            items = schema.items
            for index, item in enumerate(value):
                # A null where null is invalid counts as absent.
                if item is None and not items.nullable:
                    value[index] = self._default_of(items)
                self.apply(value[index], items)

    def _apply_to_object(self, value: dict[str, Json], schema: Schema) -> None:
        properties = schema.properties
        for key, field in properties.items():
            default = field.default
            # A default of null does not count.
            if default is UNSET or default is None:
                continue
            # An explicit null of a nullable field is a value.
            if key not in value or (value[key] is None and not field.nullable):
                value[key] = self._copy(default)
        values = schema.additional_properties if isinstance(schema.additional_properties, Schema) else None
        for key, inner in value.items():
            declared = properties.get(key)
            if declared is None and values is not None:
                declared = values
                if inner is None and not values.nullable:
                    value[key] = self._default_of(values)
            # Scalars have no fields that could be filled: a shortcut.
            if declared is not None and not isinstance(inner, _SCALARS):
                self.apply(value[key], declared)

    def _default_of(self, schema: Schema) -> Json:
        return self._copy(schema.default) if schema.has_default else None

    def _copy(self, default: Json) -> Json:
        # Nested defaults multiply with the items of lists, so they are counted per object.
        self._values -= 1
        if isinstance(default, str):
            self._characters -= len(default)
        if self._values < 0 or self._characters < 0:
            raise DefaultsTooLarge
        if is_object(default):
            return {key: self._copy(inner) for key, inner in default.items()}
        return [self._copy(item) for item in default] if is_list(default) else default


def copy_json(value: Json) -> Json:
    """Return a copy of plain JSON that shares nothing that can be changed."""
    if is_object(value):
        return {key: copy_json(inner) for key, inner in value.items()}
    return [copy_json(item) for item in value] if is_list(value) else value
