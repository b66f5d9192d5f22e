"""Whether a cache has caught up with a list of the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead._sansio.versions import is_at_least, magnitude

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["ListedState"]


@dataclass(frozen=True, slots=True)
class ListedState:
    """The state of a collection at the version of a list.

    Attributes:
        version: The version of the list.
        newest: The highest version of its objects; empty if there are none.
        keys: The keys of its objects; None if some are unknown, as those of undecodable objects.
    """

    version: str
    newest: str
    keys: frozenset[str] | None

    @classmethod
    def of(cls, version: str, objects: Iterable[tuple[str, str]], *, is_complete: bool = True) -> ListedState:
        """Create the state from the keys and versions of the listed objects."""
        listed = list(objects)
        newest = max((revision for _, revision in listed), key=magnitude, default="")
        return cls(version, newest, frozenset(key for key, _ in listed) if is_complete else None)

    def is_reached(self, version: str, keys: Callable[[], Collection[str]]) -> bool:
        """Whether a cache has this state, or a later one.

        The watch of an idle collection confirms a version only with the next bookmark, up to a minute later. But it
        delivers changes in order: a cache with the newest object has every object of the list. Deletions leave no trace
        in a list, so that the cache must have no other keys.

        Args:
            version: The version that the cache has reached.
            keys: Returns the keys of the cache.
        """
        if is_at_least(version, self.version):
            return True
        # Without the newest object, the watch lags behind the list.
        if not version or not is_at_least(version, self.newest):
            return False
        return self.keys is None or self.keys.issuperset(keys())
