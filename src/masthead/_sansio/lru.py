"""A bounded map that evicts the least recently used entry."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["LruCache"]

K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A map with a limit; the least recently used entry makes room for a new one.

    Args:
        limit: The maximum number of entries.

    Raises:
        ValueError: If `limit` is less than 1.
    """

    __slots__ = ("_entries", "_limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"a cache needs room for at least one entry, not {limit}")
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key, or None; this counts as a use."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> V | None:
        """Set the value of a key, which counts as a use; return the evicted value, if any."""
        # An existing key keeps its position in an OrderedDict unless it is moved.
        self._entries[key] = value
        self._entries.move_to_end(key)
        return self._entries.popitem(last=False)[1] if len(self._entries) > self._limit else None

    def discard(self, key: K) -> None:
        """Remove a key, if it exists."""
        self._entries.pop(key, None)

    def oldest(self) -> V | None:
        """Return the least recently used value, which does not count as a use."""
        for value in self._entries.values():
            return value
        return None

    def values(self) -> Iterator[V]:
        """All values, from the least to the most recently used one."""
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
