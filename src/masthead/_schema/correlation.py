"""Correlation of values before and after an update, as ratcheting needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.constraints import same_value
from masthead._schema.schema import Json, Schema, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Correlated", "Ratcheting"]


class Correlated:
    """A value and the one before it, with their schema."""

    __slots__ = ("_by_key", "_is_equal", "_old", "_schema", "_value")

    def __init__(self, value: Json, old: Json, schema: Schema) -> None:
        self._value = value
        self._old = old
        self._schema = schema
        self._is_equal: bool | None = None
        self._by_key: dict[Hashable, Json] | None = None

    @property
    def is_equal(self) -> bool:
        """Whether both are equal; the order of lists with keys does not matter."""
        if self._is_equal is None:
            self._is_equal = self._compare()
        return self._is_equal

    def _compare(self) -> bool:
        value, old = self._value, self._old
        # Items with keys may have moved without being changed.
        if is_list(value) and is_list(old) and self._schema.list_type == "map":
            if len(value) != len(old):
                return False
            items = [self.index(position) for position in range(len(value))]
            return all(item is not None and item.is_equal for item in items)
        if is_object(value) and is_object(old):
            if len(value) != len(old):
                return False
            fields = [self.key(member) for member in value]
            return all(field is not None and field.is_equal for field in fields)
        return same_value(value, old)

    def key(self, name: str) -> Correlated | None:
        """Return a field or value, if both have it."""
        if not is_object(self._value) or not is_object(self._old):
            return None
        if name not in self._value or name not in self._old:
            return None
        # An undeclared field cannot be correlated.
        schema = self._schema.properties.get(name) or self._schema.additional_properties
        if not isinstance(schema, Schema):
            return None
        return Correlated(self._value[name], self._old[name], schema)

    def index(self, index: int) -> Correlated | None:
        """Return an item, if the list has keys and the one before has an item with the same."""
        if not is_list(self._value) or not is_list(self._old) or self._schema.items is None:
            return None
        old = self.old_item(self._value[index])
        return None if old is None else Correlated(self._value[index], old, self._schema.items)

    def old_item(self, item: Json) -> Json:
        """Return the item before with the same keys; None if it is new, or the list has no keys."""
        # Sets and atomic lists have no stable identity of items.
        if self._schema.list_type != "map":
            return None
        if self._by_key is None:
            self._by_key = {}
            for candidate in self._old:
                if (key := self._key_of(candidate)) is not None:
                    # The first of duplicate keys counts.
                    self._by_key.setdefault(key, candidate)
        key = self._key_of(item)
        return None if key is None else self._by_key.get(key)

    def _key_of(self, item: Json) -> Hashable | None:
        if not is_object(item):
            return None
        parts: list[Hashable] = []
        for name in self._schema.list_map_keys:
            # A key may be left out if it has a default, such as the protocol of a port.
            value = item.get(name, self._default_of(name))
            if not isinstance(value, str | int | float | bool):
                return None
            # With the type, because 1 equals True in Python.
            parts.append((type(value).__name__, value))
        return tuple(parts)

    def _default_of(self, name: str) -> Json:
        items = self._schema.items
        field = items.properties.get(name) if items is not None else None
        return field.default if field is not None and field.has_default else None


class Ratcheting:
    """Whether a value, or a value around it, is unchanged by an update."""

    __slots__ = ("_current", "_nearest")

    def __init__(self, current: Correlated | None = None, nearest: Correlated | None = None) -> None:
        self._current = current
        self._nearest = nearest

    @property
    def is_unchanged(self) -> bool:
        """Whether the value is unchanged, so that its errors do not count."""
        # Below an uncorrelated list, the nearest correlated value around decides.
        decisive = self._current or self._nearest
        return decisive is not None and decisive.is_equal

    def key(self, name: str) -> Ratcheting:
        """Return it for a field or value."""
        if self._current is None:
            return self
        if self._nearest is None and name in {"apiVersion", "kind"}:
            # Both versions are converted to the same: a change would not be seen.
            return Ratcheting()
        return Ratcheting(self._current.key(name), self._current)

    def index(self, index: int) -> Ratcheting:
        """Return it for an item."""
        if self._current is None:
            return self
        return Ratcheting(self._current.index(index), self._current)
