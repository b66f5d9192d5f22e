"""Values as what they differ in from others: the responses of a sequence repeat most of the object.

A delta is None for the same value, ``{"value": …}`` for another one, ``{"fields": {…}, "without": […]}`` for an object
with the deltas of some fields, and ``{"items": […]}`` for a list whose items are deltas, or numbers of items of the old
list.
"""

from __future__ import annotations

import json
from typing import Any


def delta(old: Any, new: Any) -> Any:
    """What turns one value into another."""
    if _same(old, new):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        return _shorter(_fields(old, new), new)
    if isinstance(old, list) and isinstance(new, list):
        return _shorter({"items": [_item(old, index, each) for index, each in enumerate(new)]}, new)
    return {"value": new}


def patched(old: Any, change: Any) -> Any:
    """The other value."""
    if change is None:
        return old
    if "value" in change:
        return change["value"]
    if "items" in change:
        return [old[each] if isinstance(each, int) else _patched_item(old, *each) for each in change["items"]]
    kept = {name: each for name, each in old.items() if name not in change.get("without", ())}
    return kept | {name: patched(old.get(name), each) for name, each in change["fields"].items()}


def _fields(old: dict[str, Any], new: dict[str, Any]) -> Any:
    changed = {
        name: _field(old.get(name), name, each)
        for name, each in new.items()
        if name not in old or not _same(old[name], each)
    }
    without = [name for name in old if name not in new]
    return {"fields": changed, "without": without} if without else {"fields": changed}


def _field(old: Any, name: str, new: Any) -> Any:
    # The order of the fields in a field set counts. A null is not what is missing.
    return {"value": new} if name == "fieldsV1" or new is None else delta(old, new)


def _item(old: list[Any], index: int, item: Any) -> Any:
    same = [number for number, each in enumerate(old) if _same(each, item)]
    if same:
        return same[0]
    index = min(index, len(old) - 1)
    return [index, delta(old[index] if old else None, item)]


def _patched_item(old: list[Any], index: int, change: Any) -> Any:
    return patched(old[index] if old else None, change)


def _same(one: Any, other: Any) -> bool:
    """Whether values are the same, the order of fields included."""
    return json.dumps(one) == json.dumps(other)


def _shorter(change: Any, new: Any) -> Any:
    whole = {"value": new}
    return change if len(json.dumps(change)) < len(json.dumps(whole)) else whole
