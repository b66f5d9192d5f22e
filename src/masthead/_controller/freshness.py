"""The question whether a decision about a cached object still holds for the live one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = ["is_current"]


def is_current(cached: Object | None, live: Object | None) -> bool:
    """Whether a cached object has the uid, the spec and the deletion of the live one.

    A changed spec has another generation. Kinds without a generation, such as ConfigMap, are compared by version.

    Args:
        cached: The cached object; None if the cache has none.
        live: The object on the server; None if it does not exist.
    """
    if cached is None or live is None:
        return cached is live
    known, current = cached.metadata, live.metadata
    if known.uid != current.uid:
        return False
    if (known.deletion_timestamp is None) != (current.deletion_timestamp is None):
        return False
    if known.generation and current.generation:
        return known.generation == current.generation
    return known.resource_version == current.resource_version
