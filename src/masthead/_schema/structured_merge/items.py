"""Items of sets and lists with keys: the path element that identifies each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead._schema.path_elements import key_element, value_element

if TYPE_CHECKING:
    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import ListType

__all__ = ["UnidentifiedItemError", "item_element", "items_by_element"]


class UnidentifiedItemError(ValueError):
    """An item of a set or of a list with keys has no path element that identifies it."""


def item_element(item: Json, of: ListType) -> str:
    """Return the path element of an item of a list that is not atomic.

    Raises:
        UnidentifiedItemError: If it has none.
    """
    return _key_element(item, of) if of.keys else _in_set(item)


def items_by_element(items: list[Json], of: ListType) -> dict[str, list[Json]]:
    """Return the items by their path elements; duplicates share one.

    Raises:
        UnidentifiedItemError: If an item has no element; the message names the item.
    """
    found: dict[str, list[Json]] = {}
    for index, item in enumerate(items):
        try:
            found.setdefault(item_element(item, of), []).append(item)
        except UnidentifiedItemError as error:
            raise UnidentifiedItemError(f"element {index}: {error}") from None
    return found


def _key_element(item: Json, of: ListType) -> str:
    if item is None:
        raise UnidentifiedItemError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise UnidentifiedItemError("associative list with keys may not have non-map elements")
    keys: dict[str, Json] = {}
    for name in of.keys:
        if name in item:
            keys[name] = item[name]
        # An item without a key differs from one whose key has its zero value, unless that is the default.
        elif of.items.map_type is not None and (default := of.items.map_type.default_of(name)) is not None:
            keys[name] = default
    if not keys:
        names = " ".join(map(quoted, of.keys))
        raise UnidentifiedItemError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(keys)


def _in_set(item: Json) -> str:
    if item is None:
        raise UnidentifiedItemError("associative list without keys has an element that's an explicit null")
    if isinstance(item, dict):
        raise UnidentifiedItemError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise UnidentifiedItemError("not supported: associative list with lists as elements")
    return value_element(item)
