"""Field sets in the FieldsV1 format of ``managedFields``.

====================  ================================================================
``f:name``            a field of a struct, or an entry of a map
``k:{"name":"web"}``  the list item with these key values
``v:"a"``             the list item with this value
``i:0``               the list item at this index
``.``                 the value itself, apart from its fields and items
====================  ================================================================

An empty set stands for the value as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.walk import same
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OwnedFields", "read_fields_v1"]

_INDEX_DIGITS: Final = 10
"""An index of so many digits is rejected: no list is that long."""


@dataclass(slots=True)
class OwnedFields:
    """The fields that a manager owns at and below a value of an object.

    Attributes:
        fields: Owned fields by name, or map entries by key.
        items: Owned list items by their keys.
        values: Owned list items by value.
        indexes: Owned list items by index.
    """

    fields: dict[str, OwnedFields] = field(default_factory=dict[str, "OwnedFields"])
    items: list[tuple[dict[str, object], OwnedFields]] = field(
        default_factory=list[tuple[dict[str, object], "OwnedFields"]]
    )
    values: list[object] = field(default_factory=list[object])
    indexes: dict[int, OwnedFields] = field(default_factory=dict[int, "OwnedFields"])

    @property
    def is_leaf(self) -> bool:
        """Whether the value is owned as a whole."""
        return not (self.fields or self.items or self.values or self.indexes)

    def of_item(
        self, index: int, item: object, defaults: Mapping[str, object]
    ) -> tuple[tuple[str, ...], OwnedFields] | None:
        """The owned part of a list item, and the names of its keys; None if it is not owned.

        Args:
            index: The item's index.
            item: The item, as plain data.
            defaults: The server's defaults for absent keys.
        """
        if any(same(item, value) for value in self.values):
            return (), OwnedFields()
        # A key that an item leaves out has its default, such as the protocol of a port.
        held = {**defaults, **cast("dict[str, object]", item)} if isinstance(item, dict) else {}
        for keys, owned in self.items:
            if all(name in held and same(held[name], value) for name, value in keys.items()):
                return tuple(keys), owned
        return ((), self.indexes[index]) if index in self.indexes else None


def read_fields_v1(data: Mapping[str, object]) -> OwnedFields:
    """Decode a field set.

    Raises:
        DecodeError: If it is invalid.
    """
    try:
        return _read(data)
    except RecursionError:
        raise DecodeError("managed fields are nested too deeply") from None


def _read(data: Mapping[str, object]) -> OwnedFields:
    owned = OwnedFields()
    for element, below in data.items():
        # The "." stands for the field or item itself, not for something in it.
        if element == ".":
            continue
        if not isinstance(below, dict):
            raise _invalid_element(element)
        inner = _read(cast("dict[str, object]", below))
        kind, _, rest = element.partition(":")
        if kind == "f":
            owned.fields[rest] = inner
        elif kind == "k":
            owned.items.append((_keys(element, rest), inner))
        elif kind == "v":
            owned.values.append(_json(element, rest))
        elif kind == "i" and rest.isascii() and rest.isdigit() and len(rest) < _INDEX_DIGITS:
            # Hence the conditions: isdigit() admits what int() refuses, and int() refuses long numbers.
            owned.indexes[int(rest)] = inner
        else:
            raise _invalid_element(element)
    return owned


def _keys(element: str, text: str) -> dict[str, object]:
    keys = _json(element, text)
    if not isinstance(keys, dict):
        raise _invalid_element(element)
    return cast("dict[str, object]", keys)


def _json(element: str, text: str) -> object:
    try:
        return cast("object", msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise _invalid_element(element) from None


_SHOWN: Final = 60


def _invalid_element(element: str) -> DecodeError:
    # The element may hold a value, but never one of a Secret: its entries are owned by name.
    return DecodeError(
        f"{element[:_SHOWN]!r} is not an element of a field set", path="metadata.managedFields"
    )
