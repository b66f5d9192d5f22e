"""The order of merged lists: the patch decides about its own items, and the rest stays where it was.

Items are compared by their merge keys, or by themselves if they are scalars. All of it takes time in
proportion to the length of the lists.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard, TypeVar, cast

import msgspec

from masthead._schema.go_format import go_value
from masthead._schema.merge_errors import StrategicMergeError, missing_key, not_comparable, wrong_type

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    Item: TypeAlias = Any

__all__ = [
    "PATCH",
    "element_type",
    "first_positions",
    "identity",
    "interleave",
    "is_equal",
    "is_list",
    "is_object",
    "key_of",
    "partition",
    "sort_by",
]

PATCH: Final = "$patch"
"""The directive inside an object of a patch."""

_UNSTABLE: Final = 20
"""Lists up to this length are sorted by insertion, as Go does it."""

_ENCODER: Final = msgspec.json.Encoder(order="deterministic")

T = TypeVar("T")


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def identity(value: object) -> Hashable:
    """Return what two scalars have in common if Go takes them as equal: the type and the value.

    Raises:
        StrategicMergeError: If it is an object or a list.
    """
    if isinstance(value, dict | list):
        # Only scalars have an identity: the server refuses maps and lists here.
        raise not_comparable(cast("object", value))
    # With the type: 1, 1.0 and True are equal in Python, but not in Go.
    return type(value), value


def is_equal(one: object, other: object) -> bool:
    """Whether two values are equal to Go, to which 1 and 1.0 differ."""
    return one is other or _ENCODER.encode(one) == _ENCODER.encode(other)


def key_of(item: Item, merge_key: str) -> Hashable:
    """Return the identity of an item, by its merge key if it is an object.

    Raises:
        StrategicMergeError: If that is an object or a list.
    """
    return identity(item.get(merge_key) if is_object(item) else item)


def element_type(*lists: Sequence[Item]) -> type:
    """Return the type that all items have.

    Raises:
        StrategicMergeError: If they differ, are lists, or if there are none.
    """
    types: set[type] = {type(item) for items in lists for item in items}
    if not types:
        raise StrategicMergeError("no elements in any of the given slices")
    leading: object = next(item for items in lists for item in items)
    # Go decides by the first element, and complains about the others afterwards.
    first = type(leading)
    if first is type(None):
        raise not_comparable(None)
    if first is list:
        raise StrategicMergeError("lists of lists are not supported", 422)
    if len(types) > 1:
        shown = go_value([list(items) for items in lists])
        raise StrategicMergeError(f"list element types are not identical: {shown}")
    return first


def first_positions(items: Sequence[Item], merge_key: str) -> dict[Hashable, int]:
    """Return the first index of each item in a list."""
    positions: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        positions.setdefault(key_of(item, merge_key), index)
    return positions


def partition(items: Sequence[Item], listed: Sequence[Item], merge_key: str) -> tuple[list[Item], list[Item]]:
    """Divide items into members and non-members of a list.

    Raises:
        StrategicMergeError: If an item has no merge key, or if the list has something else than objects.
    """
    if not merge_key:
        known = {identity(member) for member in listed}
        return _divide(items, lambda item: identity(item) in known)
    # Go searches linearly and stops at the first element that is not a map.
    limit = next((index for index, element in enumerate(listed) if not is_object(element)), None)
    positions = first_positions([member for member in listed[:limit] if merge_key in member], merge_key)

    def is_listed(item: Item) -> bool:
        if not is_object(item):
            raise wrong_type(dict, item)
        if merge_key not in item:
            raise missing_key(item, merge_key)
        if key_of(item, merge_key) in positions:
            return True
        # The search has reached an item that is not an object.
        if limit is not None:
            raise StrategicMergeError(f"value for key {limit} is not a map")
        return False

    return _divide(items, is_listed)


def _divide(items: Sequence[T], test: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    chosen: list[T] = []
    rest: list[T] = []
    for item in items:
        (chosen if test(item) else rest).append(item)
    return chosen, rest


def sort_by(items: list[Item], order: Sequence[Item], merge_key: str, *, are_objects: bool) -> list[Item]:
    """Sort items as another list has them; those to be deleted come last.

    Raises:
        StrategicMergeError: If an item of either has no merge key.
    """
    deleted: list[Item] = []
    if are_objects:
        for item in (*items, *order):
            if not is_object(item):
                raise wrong_type(dict, item)
            if merge_key not in item:
                raise missing_key(item, merge_key)
        deleted, items = _divide(items, lambda item: item.get(PATCH) == "delete")
    positions = first_positions(order, merge_key)
    places = [positions.get(key_of(item, merge_key)) for item in items]
    # All positions are known: a stable sort gives Go's order.
    if None not in places:
        keyed = zip(cast("list[int]", places), items, strict=True)
        return [item for _, item in sorted(keyed, key=lambda pair: pair[0])] + deleted
    return _sort_with_unknown(items, positions, merge_key) + deleted


def _sort_with_unknown(items: list[Item], positions: Mapping[Hashable, int], merge_key: str) -> list[Item]:
    """Sort items of which some have no place. kube-apiserver takes those as less than any other.

    That is no order, so the result depends on the algorithm: insertion for short lists. Long ones keep
    their order here.
    """
    # Go's sort is unstable above this length, so no order can be reproduced.
    if len(items) > _UNSTABLE:
        return items

    def compare(left: Item, right: Item) -> int:
        mine, other = positions.get(key_of(left, merge_key)), positions.get(key_of(right, merge_key))
        return -1 if mine is None or other is None or mine < other else 1

    made: list[Item] = []
    for item in items:
        # An insertion sort, as Go's for short slices. The comparison is not consistent, so the algorithm matters.
        place = len(made)
        while place and compare(item, made[place - 1]) < 0:
            place -= 1
        made.insert(place, item)
    return made


def interleave(
    server_items: list[Item], patch_items: list[Item], server_order: Sequence[Item], merge_key: str
) -> list[Item]:
    """Insert the items that only the server has into the items of the patch.

    A server item precedes the first item of the patch that followed it on the server.
    """
    positions = first_positions(server_order, merge_key)
    place = functools.partial(_place, positions=positions, merge_key=merge_key)
    merged: list[Item] = []
    rest = iter(server_items)
    waiting = next(rest, None)
    for item in patch_items:
        # An item that the server does not know attracts none of the server's items.
        behind = place(item)
        while waiting is not None and behind is not None and _is_before(place(waiting), behind):
            merged.append(waiting)
            waiting = next(rest, None)
        merged.append(item)
    if waiting is not None:
        merged.append(waiting)
    return [*merged, *rest]


def _place(item: Item, *, positions: Mapping[Hashable, int], merge_key: str) -> int | None:
    return positions.get(key_of(item, merge_key))


def _is_before(place: int | None, other: int) -> bool:
    return place is not None and place < other
