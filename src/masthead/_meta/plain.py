"""Access to plain data of any shape: a missing value, or a value of a wrong type, reads as empty.

Objects may come from anywhere, so a printer never trusts them. Unset fields print as their zero values, as in Go.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, TypeGuard, cast

__all__ = ["Plain", "entries", "flag", "has", "integer", "is_integer", "labels", "part", "text", "texts"]

Plain: TypeAlias = dict[str, Any]
"""A JSON object: one of the API, or a part of one."""

_NOTHING: Final[Plain] = {}
_MAX_INTEGER: Final = 2**63


def part(owner: Plain, *path: str) -> Plain:
    """Return a nested object; an empty one if it is missing."""
    for name in path:
        found = owner.get(name)
        if not isinstance(found, dict):
            return _NOTHING
        owner = cast("Plain", found)
    return owner


def entries(owner: Plain, name: str) -> list[Plain]:
    """Return the objects of a list; an element that is no object counts as an empty one."""
    found = owner.get(name)
    if not isinstance(found, list):
        return []
    return [cast("Plain", item) if isinstance(item, dict) else _NOTHING for item in cast("list[object]", found)]


def text(owner: Plain, name: str) -> str:
    """Return a string; an empty one if it is missing."""
    found = owner.get(name)
    return found if isinstance(found, str) else ""


def texts(owner: Plain, name: str) -> list[str]:
    """Return the strings of a list; an element that is no string counts as an empty one."""
    found = owner.get(name)
    if not isinstance(found, list):
        return []
    return [item if isinstance(item, str) else "" for item in cast("list[object]", found)]


def integer(owner: Plain, name: str) -> int:
    """Return a whole number; 0 if it is missing, or if it is longer than any of the API."""
    found = owner.get(name)
    return found if is_integer(found) else 0


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number of 64 bits, as the API has them."""
    return type(value) is int and -_MAX_INTEGER <= value < _MAX_INTEGER


def has(owner: Plain, name: str) -> bool:
    """Whether a field is set; null counts as unset."""
    return owner.get(name) is not None


def flag(owner: Plain, name: str) -> bool:
    """Whether a boolean is true."""
    return owner.get(name) is True


def labels(owner: Plain, name: str) -> dict[str, str]:
    """Return a map of strings; a value that is no string counts as an empty one."""
    return {
        str(key): value if isinstance(value, str) else ""
        for key, value in cast("dict[object, object]", part(owner, name)).items()
    }
