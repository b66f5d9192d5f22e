"""Resource versions, compared: decimal numbers of any length, and of one collection each.

Other servers than Kubernetes' own may have versions of another form. Those are only the same, or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["is_at_least", "magnitude", "oldest"]


def is_at_least(version: str, other: str) -> bool:
    """Whether a version is another one, or came later. An empty one is the beginning of time."""
    if version == other or not other:
        return True
    return _is_number(version) and _is_number(other) and magnitude(version) >= magnitude(other)


def oldest(versions: Collection[str]) -> str:
    """The oldest; empty if none is given, or they cannot be compared."""
    if len(versions) == 1:
        return next(iter(versions))
    return min(versions, key=magnitude, default="") if all(map(_is_number, versions)) else ""


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit()


def magnitude(version: str) -> tuple[int, str]:
    """What versions are sorted by: of two decimal numbers, the longer is the larger."""
    digits = version.lstrip("0")
    return len(digits), digits
