"""Objects as the server handles them: decoded JSON."""

from __future__ import annotations

from typing import Final, cast

from masthead._meta.plain import Plain, text

__all__ = [
    "Plain",
    "has_finalizers",
    "is_being_deleted",
    "items",
    "metadata",
    "part",
    "text",
    "with_floats",
    "with_integers",
    "without_managed_fields",
]

_INT64: Final = 2**63


def part(owner: Plain, name: str) -> Plain:
    """Return a nested object; if it is missing, return an empty object without adding it."""
    found = owner.get(name)
    return cast("Plain", found) if isinstance(found, dict) else {}


def items(owner: Plain, name: str) -> list[Plain]:
    """Return the objects of a list; none if there is no list."""
    found = owner.get(name)
    if not isinstance(found, list):
        return []
    return [cast("Plain", item) for item in cast("list[object]", found) if isinstance(item, dict)]


def metadata(found: Plain) -> Plain:
    """Return an object's metadata, which is added if it is missing."""
    meta = found.get("metadata")
    if not isinstance(meta, dict):
        meta = found["metadata"] = {}
    return cast("Plain", meta)


def has_finalizers(found: Plain) -> bool:
    """Tell whether an object has finalizers."""
    return bool(part(found, "metadata").get("finalizers"))


def is_being_deleted(found: Plain) -> bool:
    """Tell whether an object is marked for deletion."""
    return bool(text(part(found, "metadata"), "deletionTimestamp"))


def without_managed_fields(found: Plain) -> Plain:
    """Return an object without its managedFields; the rest is shared."""
    meta = part(found, "metadata")
    if "managedFields" not in meta:
        return found
    return {**found, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}


def with_floats(value: object) -> object:
    """Return plain JSON with integers of more than 64 bits converted to floats, as Go decodes them."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return float(value)
    if isinstance(value, dict):
        return {key: with_floats(member) for key, member in cast("Plain", value).items()}
    return [with_floats(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


def with_integers(value: object) -> object:
    """Return plain JSON with whole floats converted to integers, as Go writes them."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _INT64 else value
    if isinstance(value, dict):
        return {key: with_integers(member) for key, member in cast("Plain", value).items()}
    return [with_integers(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
