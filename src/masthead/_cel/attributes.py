"""Fields and items: ``self.field``, ``self.?field``, ``list[0]``, ``has(self.field)``."""

from __future__ import annotations

import math

from masthead._cel.errors import EvaluationError
from masthead._cel.objects import ObjectValue
from masthead._cel.values import (
    MAX_INT,
    MISSING,
    NONE,
    OptionalValue,
    Uint,
    Value,
    find,
    is_list,
    is_map,
    type_name,
)

__all__ = ["index_value", "present", "select_optional", "select_value", "test_value"]


def select_value(value: Value, name: str) -> Value:
    """Return a field.

    Raises:
        EvaluationError: If it is not set, or the value has no fields.
    """
    # The most frequent case, without a call of its `find`.
    if type(value) is ObjectValue:
        field = value.shape.fields.get(name)
        if field is not None:
            found = value.raw.get(field[0])
            if found is not None:
                convert = field[1]
                return found if convert is None else convert(found)
        raise EvaluationError(f"no such key: {name}")
    if type(value) is OptionalValue:
        return select_optional(value, name)
    found = _look_up(value, name)
    if found is MISSING:
        raise EvaluationError(f"no such key: {name}")
    return found


def _look_up(value: Value, name: str) -> Value:
    if is_map(value):
        return find(value, name)
    # The server reports a wrong index type here, and not a missing key.
    if is_list(value):
        raise EvaluationError(f"unsupported index type '{type_name(name)}' in list")
    return MISSING


def test_value(value: Value, name: str) -> bool:
    """Whether a field is set.

    Raises:
        EvaluationError: If the value is a list.
    """
    if type(value) is OptionalValue:
        return value.has_value and test_value(value.value, name)
    return _look_up(value, name) is not MISSING


def select_optional(value: Value, name: str) -> OptionalValue:
    """Return a field as an optional value; none if it is not set.

    Raises:
        EvaluationError: If the value is a list.
    """
    if type(value) is OptionalValue:
        if not value.has_value:
            return NONE
        value = value.value
    found = _look_up(value, name)
    return NONE if found is MISSING else OptionalValue(found)


def _position(key: Value) -> int:
    """Convert a key to a list index.

    Raises:
        EvaluationError: If it is not a whole number.
    """
    if type(key) is int:
        return key
    # Go converts to int64 first.
    if type(key) is Uint and key <= MAX_INT:
        return int(key)
    if type(key) is float and math.isfinite(key) and key == int(key):
        return int(key)
    if type(key) in {Uint, float}:
        raise EvaluationError(f"unsupported index value {key} in list")
    raise EvaluationError(f"unsupported index type '{type_name(key)}' in list")


def index_value(value: Value, key: Value) -> Value:
    """Return the item of a list, or the value of a map.

    Raises:
        EvaluationError: If it is missing, or the key has the wrong type.
    """
    if is_list(value):
        position = _position(key)
        if not 0 <= position < len(value):
            raise EvaluationError(f"index out of bounds: {key}")
        return value[position]
    if is_map(value):
        found = find(value, key)
        if found is not MISSING:
            return found
    raise EvaluationError(f"no such key: {_format_key(key)}")


def _format_key(key: Value) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


def present(value: Value, key: Value) -> OptionalValue:
    """Return an item or value as an optional one; empty if it is missing.

    Raises:
        EvaluationError: If the key has the wrong type.
    """
    if type(value) is OptionalValue:
        if not value.has_value:
            return NONE
        value = value.value
    if is_list(value):
        position = _position(key)
        return OptionalValue(value[position]) if 0 <= position < len(value) else NONE
    found = find(value, key) if is_map(value) else MISSING
    return NONE if found is MISSING else OptionalValue(found)
