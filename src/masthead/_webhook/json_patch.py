"""Computes the JSON patch (RFC 6902) from one object to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta.patch import escape_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.patch import JsonOperation

__all__ = ["compute_json_patch"]

_MAX_DEPTH: Final = 64
"""Levels that are compared. A difference below replaces the whole value, so that deep objects need no deep stack."""


def compute_json_patch(old: object, new: object) -> list[JsonOperation]:
    """Return the operations that turn plain data into other plain data; empty if they are equal.

    Maps are compared by key. A list changes element by element, and grows or shrinks at its end.
    """
    return list(_diff(old, new, "", 0))


def _diff(old: Any, new: Any, path: str, depth: int) -> Iterator[JsonOperation]:  # noqa: ANN401 - any JSON
    if isinstance(old, dict) and isinstance(new, dict) and depth < _MAX_DEPTH:
        yield from _diff_maps(cast("dict[str, object]", old), cast("dict[str, object]", new), path, depth)
    elif isinstance(old, list) and isinstance(new, list) and depth < _MAX_DEPTH:
        yield from _diff_lists(cast("list[object]", old), cast("list[object]", new), path, depth)
    elif not _is_identical(old, new):
        yield {"op": "replace", "path": path, "value": new}


def _diff_maps(old: dict[str, object], new: dict[str, object], path: str, depth: int) -> Iterator[JsonOperation]:
    for key in old:
        if key not in new:
            yield {"op": "remove", "path": f"{path}/{escape_pointer(key)}"}
    for key, value in new.items():
        inner = f"{path}/{escape_pointer(key)}"
        if key not in old:
            yield {"op": "add", "path": inner, "value": value}
        else:
            yield from _diff(old[key], value, inner, depth + 1)


def _diff_lists(old: list[object], new: list[object], path: str, depth: int) -> Iterator[JsonOperation]:
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        yield from _diff(before, after, f"{path}/{index}", depth + 1)
    # From the end, so that the remaining indices stay valid.
    for index in range(len(old) - 1, len(new) - 1, -1):
        yield {"op": "remove", "path": f"{path}/{index}"}
    for value in new[len(old) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _is_identical(old: Any, new: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether two values have the same JSON: in Python ``True == 1 == 1.0``, at any depth."""
    if type(old) is not type(new):
        return False
    if isinstance(old, dict):
        left, right = cast("dict[str, object]", old), cast("dict[str, object]", new)
        return left.keys() == right.keys() and all(_is_identical(left[key], right[key]) for key in left)
    if isinstance(old, list):
        before, after = cast("list[object]", old), cast("list[object]", new)
        return len(before) == len(after) and all(map(_is_identical, before, after))
    return bool(old == new)
