"""The state of a collection as a server has listed it, to tell whether a cache has caught up with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead._sansio.versions import is_at_least, magnitude

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["ListedState"]


@dataclass(frozen=True, slots=True)
class ListedState:
    """What a server had at a version.

    Attributes:
        version: The version of the list.
        newest: The highest version of its objects; empty if there are none.
        keys: The keys of its objects; None if not all of them are known, as those that cannot be decoded.
    """

    version: str
    newest: str
    keys: frozenset[str] | None

    @classmethod
    def of(cls, version: str, objects: Iterable[tuple[str, str]], *, is_complete: bool = True) -> ListedState:
        """Make one of the keys and versions of the listed objects."""
        listed = list(objects)
        newest = max((each for _, each in listed), key=magnitude, default="")
        return cls(version, newest, frozenset(key for key, _ in listed) if is_complete else None)

    def is_reached(self, version: str, keys: Callable[[], Collection[str]]) -> bool:
        """Whether a cache shows this state, or a later one.

        A watch of a quiet collection does not say that it has reached a version before the next bookmark, a minute later.
        But it delivers changes in order: with the newest object, a cache has every object of the list. Deletions have left
        no trace in the list: what the cache has beside it must be gone, too.

        Args:
            version: The version that the cache has reached.
            keys: Returns the keys of its objects.
        """
        if is_at_least(version, self.version):
            return True
        if not version or not is_at_least(version, self.newest):
            return False
        return self.keys is None or self.keys.issuperset(keys())
