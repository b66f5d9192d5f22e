"""Objects as the server handles them: plain data, as JSON gives it."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

Plain: TypeAlias = dict[str, Any]
"""An object of the API, or a part of one."""


def part(owner: Plain, name: str) -> Plain:
    """Return a nested object, or an empty one that is not put in place if there is none."""
    found = owner.get(name)
    return cast("Plain", found) if isinstance(found, dict) else {}


def items(owner: Plain, name: str) -> list[Plain]:
    """Return the objects of a list; nothing if it is not there."""
    found = owner.get(name)
    if not isinstance(found, list):
        return []
    return [cast("Plain", each) for each in cast("list[object]", found) if isinstance(each, dict)]


def text(owner: Plain, name: str) -> str:
    """Return a string, or an empty one if there is none."""
    found = owner.get(name)
    return found if isinstance(found, str) else ""


def metadata(found: Plain) -> Plain:
    """Return an object's metadata, put in place if there was none."""
    meta = found.get("metadata")
    if not isinstance(meta, dict):
        meta = found["metadata"] = {}
    return cast("Plain", meta)


def has_finalizers(found: Plain) -> bool:
    """Tell whether something holds an object back from being removed."""
    return bool(part(found, "metadata").get("finalizers"))


def is_being_deleted(found: Plain) -> bool:
    """Tell whether an object is on its way out."""
    return bool(text(part(found, "metadata"), "deletionTimestamp"))
