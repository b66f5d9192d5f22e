"""Sets of fields as ``managedFields`` writes them.

====================  ================================================================
``f:name``            the field of a type, or the entry of a map
``k:{"name":"web"}``  the item of a list whose keys have these values
``v:"a"``             the item of a list that is this value
``i:0``               the item at a place of a list
``.``                 the thing itself, beside what is in it
====================  ================================================================

A set without anything in it stands for the thing as a whole.
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

_LONGEST_PLACE: Final = 10
"""How many digits a place in a list may not have: no list is that long."""


@dataclass(slots=True)
class OwnedFields:
    """The fields that somebody owns, at and below some place in an object.

    Attributes:
        fields: By the name of a field, or the key of a map.
        items: The items of a list, by their keys.
        values: The items of a list, by their values.
        places: The items of a list, by where they are.
    """

    fields: dict[str, OwnedFields] = field(default_factory=dict[str, "OwnedFields"])
    items: list[tuple[dict[str, object], OwnedFields]] = field(
        default_factory=list[tuple[dict[str, object], "OwnedFields"]]
    )
    values: list[object] = field(default_factory=list[object])
    places: dict[int, OwnedFields] = field(default_factory=dict[int, "OwnedFields"])

    @property
    def is_leaf(self) -> bool:
        """Whether the thing is owned as a whole."""
        return not (self.fields or self.items or self.values or self.places)

    def of_item(
        self, place: int, item: object, defaults: Mapping[str, object]
    ) -> tuple[tuple[str, ...], OwnedFields] | None:
        """What is owned of a list's item, and the names of its keys; None if nothing is.

        Args:
            place: Where the item is.
            item: The item, as plain data.
            defaults: What the server takes a key to be that is not there.
        """
        if any(same(item, value) for value in self.values):
            return (), OwnedFields()
        held = {**defaults, **cast("dict[str, object]", item)} if isinstance(item, dict) else {}
        for keys, owned in self.items:
            if all(name in held and same(held[name], value) for name, value in keys.items()):
                return tuple(keys), owned
        return ((), self.places[place]) if place in self.places else None


def read_fields_v1(data: Mapping[str, object]) -> OwnedFields:
    """Read a set of fields.

    Raises:
        DecodeError: if it is none.
    """
    try:
        return _read(data)
    except RecursionError:
        raise DecodeError("managed fields are nested too deeply") from None


def _read(data: Mapping[str, object]) -> OwnedFields:
    owned = OwnedFields()
    for element, below in data.items():
        if element == ".":
            continue
        if not isinstance(below, dict):
            raise _no_element(element)
        inner = _read(cast("dict[str, object]", below))
        kind, _, rest = element.partition(":")
        if kind == "f":
            owned.fields[rest] = inner
        elif kind == "k":
            owned.items.append((_keys(element, rest), inner))
        elif kind == "v":
            owned.values.append(_json(element, rest))
        elif kind == "i" and rest.isascii() and rest.isdigit() and len(rest) < _LONGEST_PLACE:
            owned.places[int(rest)] = inner
        else:
            raise _no_element(element)
    return owned


def _keys(element: str, text: str) -> dict[str, object]:
    keys = _json(element, text)
    if not isinstance(keys, dict):
        raise _no_element(element)
    return cast("dict[str, object]", keys)


def _json(element: str, text: str) -> object:
    try:
        return cast("object", msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise _no_element(element) from None


_SHOWN: Final = 60


def _no_element(element: str) -> DecodeError:
    # The element may hold a value, but never one of a secret's: those are owned by their names.
    return DecodeError(f"{element[:_SHOWN]!r} is no element of a field set", path="metadata.managedFields")
