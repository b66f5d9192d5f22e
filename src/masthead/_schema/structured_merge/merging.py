"""Merging: an object with the fields of an applied configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.structured_merge.items import item_element, items_by_element
from masthead._schema.structured_merge.types import MapType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._schema.schema import Json
    from masthead._schema.structured_merge.types import ListType, MergeType

__all__ = ["merge"]


def merge(live: Json, config: Json, of: MergeType) -> Json:
    """Merge a configuration into a live value. Nothing is removed; the values of the configuration take precedence.

    The arguments are not modified; the result shares parts with both.

    Raises:
        UnidentifiedItemError: If an item of a set or of a list with keys cannot be identified.
    """
    form = of.form(config)
    # Scalars and atomic values are replaced as a whole.
    if form is None or form.is_atomic:
        return config
    if isinstance(form, MapType):
        fields: dict[str, Json] = config if config.__class__ is dict else {}
        # Nothing to merge with.
        if live.__class__ is not dict or not live:
            return config
        return _merge_maps(live, fields, form)
    items: list[Json] = config if config.__class__ is list else []
    if live.__class__ is not list or not live:
        return config
    return _merge_lists(live, items, form) if items else live


def _merge_maps(live: dict[str, Json], config: dict[str, Json], of: MapType) -> dict[str, Json]:
    # Live fields keep their order; new ones follow.
    merged = dict(live)
    for name, value in config.items():
        type_ = of.type_of(name)
        merged[name] = merge(live[name], value, type_) if name in live and type_ is not None else value
    return merged


def _merge_lists(live: list[Json], config: list[Json], of: ListType) -> list[Json]:
    elements, applied = [item_element(member, of) for member in live], items_by_element(config, of)
    present: dict[str, Json] = {}
    for element, item in zip(elements, live, strict=True):
        # Duplicates in the live list cannot be merged: an applied item replaces them.
        present[element] = None if element in present else item
    merged: list[Json] = []
    for element, item in _order(elements, live, list(applied)):
        if element not in applied:
            merged.append(item)
        else:
            value = applied[element][0]
            merged.append(value if (same := present.get(element)) is None else merge(same, value, of.items))
    return merged


def _order(elements: list[str], live: list[Json], applied: list[str]) -> Iterator[tuple[str, Json]]:
    """Yield each element of the merged list, with its item if it is only in the live one.

    Items of the configuration keep its order. The other items are inserted between them: each after the items that
    precede it in the live list, as far as the order of the configuration allows.
    """
    is_live, is_applied = set(elements), set(applied)
    shared = [element for element in applied if element in is_live]
    done: set[str] = set()
    left = right = turn = 0
    while left < len(elements) or right < len(applied):
        if left < len(elements):
            element = elements[left]
            if element not in is_applied:
                yield element, live[left]
                left += 1
                continue
            # Both orders agree here, so that the item is yielded once.
            is_match = right < len(applied) and element == applied[right]
            if right < len(applied) and not is_match and turn < len(shared) and shared[turn] != element:
                # The configuration has another order: this item is yielded later, or was already.
                left += 1
                continue
            if is_match or element in done:
                left += 1
        if right < len(applied):
            element = applied[right]
            yield element, None
            done.add(element)
            turn += turn < len(shared) and shared[turn] == element
            right += 1
