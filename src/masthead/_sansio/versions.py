"""Compares resource versions of one collection: decimal numbers of any length.

Other API servers may use another form. Such versions can only be equal or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["is_at_least", "magnitude", "oldest"]


def is_at_least(version: str, other: str) -> bool:
    """Whether a version is equal to another, or newer. An empty version is older than all others."""
    if version == other or not other:
        return True
    return _is_number(version) and _is_number(other) and magnitude(version) >= magnitude(other)


def oldest(versions: Collection[str]) -> str:
    """The oldest version; empty without versions, or if they cannot be compared."""
    if len(versions) == 1:
        return next(iter(versions))
    return min(versions, key=magnitude, default="") if all(map(_is_number, versions)) else ""


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit()


def magnitude(version: str) -> tuple[int, str]:
    """A sort key for versions, without the limit of int() for long numbers."""
    # Of two decimal numbers without leading zeros, the longer is the larger.
    digits = version.lstrip("0")
    return len(digits), digits
