"""Lists of type ``set`` and ``map``: no two items may be equal, or have equal keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.constraints import identity
from masthead._schema.errors import duplicate, invalid, sorted_keys
from masthead._schema.schema import CONTAINERS, Schema, is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead._schema.errors import FieldError
    from masthead._schema.schema import Json

__all__ = ["list_errors"]


def list_errors(value: Json, schema: Schema, path: str = "") -> list[FieldError]:
    """Return the duplicates in lists whose schema does not allow them.

    On update they count only if the old value has none, anywhere.

    Args:
        value: The value, plain JSON.
        schema: Its structural schema.
        path: Its path; empty for a whole object.
    """
    found: list[FieldError] = []
    _add_errors(found, value, schema, path)
    return found


def _add_errors(found: list[FieldError], value: Json, schema: Schema, path: str) -> None:
    if is_object(value):
        values = schema.additional_properties
        if isinstance(values, Schema):
            for key, inner in value.items():
                # Scalars contain no lists: skipping them saves most calls.
                if inner.__class__ in CONTAINERS:
                    _add_errors(found, inner, values, f"{path}[{key}]")
        for key, inner in value.items():
            if inner.__class__ in CONTAINERS and key in schema.properties:
                _add_errors(found, inner, schema.properties[key], f"{path}.{key}" if path else key)
    elif is_list(value):
        found += _own_errors(value, schema, path)
        if schema.items is not None:
            for index, item in enumerate(value):
                if item.__class__ in CONTAINERS:
                    _add_errors(found, item, schema.items, f"{path}[{index}]")


def _own_errors(items: list[Json], schema: Schema, path: str) -> Iterator[FieldError]:
    if schema.list_type == "set":
        for index in _iter_duplicates(items):
            yield duplicate(f"{path}[{index}]", sorted_keys(items[index]))
    elif schema.list_type == "map":
        yield from _map_errors(items, schema.list_map_keys, path)


def _map_errors(items: list[Json], names: Sequence[str], path: str) -> Iterator[FieldError]:
    for index, element in enumerate(items):
        # One error is enough: keys cannot be compared then.
        if element is not None and not is_object(element):
            detail = "must be an object for an array of list-type map"
            yield invalid(f"{path}[{index}]", sorted_keys(element), detail)
            return
    keys = [{name: item[name] for name in names if name in item} if item else {} for item in items]
    for index in _iter_duplicates(keys):
        yield duplicate(f"{path}[{index}]", sorted_keys(keys[index]))


def _iter_duplicates(values: Sequence[Json]) -> Iterator[int]:
    """Yield where values occur for the second time; further times do not count."""
    seen: dict[object, int] = {}
    for index, item in enumerate(values):
        key = identity(item)
        count = seen[key] = seen.get(key, 0) + 1
        # Each duplicate value is reported once, at its second occurrence.
        if count == 2:
            yield index
