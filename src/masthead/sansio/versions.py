"""Resource versions, compared: decimal numbers of any length, and of one collection each.

Other servers than Kubernetes' own may have versions of another form. Those are only the same, or not.
"""

from __future__ import annotations

__all__ = ["is_at_least", "oldest"]


def is_at_least(version: str, other: str) -> bool:
    """Whether a version is another one, or came later. An empty one is the beginning of time."""
    if version == other or not other:
        return True
    return _is_number(version) and _is_number(other) and int(version) > int(other)


def oldest(versions: list[str]) -> str:
    """The one that came first; empty if that cannot be told."""
    if len(versions) == 1:
        return versions[0]
    return min(versions, key=int) if versions and all(map(_is_number, versions)) else ""


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit()
