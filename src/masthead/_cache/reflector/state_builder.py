"""A new state of a resource, while it arrives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._sansio.listwatch_steps import INITIAL_EVENTS_TIMEOUT

if TYPE_CHECKING:
    from masthead._cache.store.storage import Stored

__all__ = ["StateBuilder"]

_MIN_PROGRESS: Final = 50
"""Objects that must arrive within `INITIAL_EVENTS_TIMEOUT` seconds to extend the deadline."""


@dataclass(slots=True)
class StateBuilder:
    """Collects the objects of a list or watch-list.

    Attributes:
        began: The time of the request.
        items: The packed objects, by key.
        broken: The problems of objects that cannot be stored, by key.
        versions: The resource versions of all objects by key, for a comparison with a plain list.
    """

    began: float = 0.0
    items: dict[str, Stored] = field(default_factory=dict[str, "Stored"])
    broken: dict[str, str] = field(default_factory=dict[str, str])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    _due: float = 0.0
    _had: int = 0

    def drop(self, key: str) -> None:
        """Remove an object that was deleted before the state was complete."""
        self.items.pop(key, None)
        self.broken.pop(key, None)
        self.versions.pop(key, None)

    def deadline(self, now: float) -> float:
        """The deadline of the next objects of a watch-list.

        A server that supports watch-lists sends all objects without a pause; another sends only occasional changes. So
        the deadline moves only while many objects arrive.
        """
        # By new objects, not by events: changes of the same few objects are no progress.
        if not self._due or len(self.items) >= self._had + _MIN_PROGRESS:
            self._due, self._had = now + INITIAL_EVENTS_TIMEOUT, len(self.items)
        return self._due
