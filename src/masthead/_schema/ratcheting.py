"""Ratcheting: on update, errors of values that did not change do not count.

Old and new values correlate field by field, and in lists of type ``map`` item by item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.constraints import same_value
from masthead._schema.errors import float_text, quoted
from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from masthead._schema.schema import Json

__all__ = ["Correlation"]

_MISSING: Final = object()


class Correlation:
    """A value, and the old value in its place.

    Args:
        new: The value.
        old: The old value.
        schema: Their schema.
    """

    __slots__ = ("_equal", "_keyed", "new", "old", "schema")

    def __init__(self, new: Json, old: Json, schema: Schema) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._equal: bool | None = None
        self._keyed: dict[object, Json] | None = None

    def field(self, name: str) -> Correlation | None:
        """Return the correlation of a field; None if it has no old value, or is not declared."""
        if not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        new, old = self.new.get(name, _MISSING), self.old.get(name, _MISSING)
        if new is _MISSING or old is _MISSING:
            return None
        schema = self.schema.properties.get(name)
        if schema is None and isinstance(self.schema.additional_properties, Schema):
            schema = self.schema.additional_properties
        return None if schema is None else Correlation(new, old, schema)

    def item(self, index: int) -> Correlation | None:
        """Return the correlation of an item; None if there is no old item with its keys."""
        items = self.schema.items
        if not isinstance(self.new, list) or not isinstance(self.old, list) or items is None:
            return None
        if not self._has_keys():
            return None
        if self._keyed is None:
            self._keyed = {}
            for each in self.old:
                if (key := self._key(each)) is not None:
                    self._keyed.setdefault(key, each)
        found = self._keyed.get(self._key(self.new[index]))
        return None if found is None else Correlation(self.new[index], found, items)

    def _has_keys(self) -> bool:
        schema = self.schema
        is_keyed = schema.type == "array" and schema.list_type == "map" and bool(schema.list_map_keys)
        return is_keyed and schema.items is not None

    def _key(self, item: Json) -> object:
        """Return what identifies an item; None if a key is missing or no scalar."""
        names = self.schema.list_map_keys
        if not isinstance(item, dict) or not names:
            return None
        key = tuple(_key_part(item.get(name)) for name in names)
        return None if None in key else key

    def is_equal(self) -> bool:
        """Tell whether the value did not change. The order of items with keys does not matter."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(self._is_same(self.field(name)) for name in new)
        if isinstance(new, list) and isinstance(old, list) and self._has_keys():
            return len(new) == len(old) and all(self._is_same(self.item(index)) for index in range(len(new)))
        return same_value(new, old)

    @staticmethod
    def _is_same(child: Correlation | None) -> bool:
        return child is not None and child.is_equal()


def _key_part(value: Json) -> str | None:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool | int):
        return str(value).lower()
    return float_text(value) if isinstance(value, float) else None
