"""A new state, on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._sansio.listwatch_steps import INITIAL_EVENTS_TIMEOUT

if TYPE_CHECKING:
    from masthead._cache.store.storage import Stored

__all__ = ["StateBuilder"]

_POUR: Final = 50
"""So many objects come within `INITIAL_EVENTS_TIMEOUT` seconds from a server that sends all it has."""


@dataclass(slots=True)
class StateBuilder:
    """What has come of a new state so far.

    Attributes:
        began: When it began.
        items: What can be used, by key.
        broken: What cannot, by key, and why.
        versions: The resource versions of all objects by key, if they are to be compared with a plain list.
    """

    began: float = 0.0
    items: dict[str, Stored] = field(default_factory=dict[str, "Stored"])
    broken: dict[str, str] = field(default_factory=dict[str, str])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    _due: float = 0.0
    _had: int = 0

    def drop(self, key: str) -> None:
        """An object is gone before the state is complete."""
        self.items.pop(key, None)
        self.broken.pop(key, None)
        self.versions.pop(key, None)

    def deadline(self, now: float) -> float:
        """Until when the next objects of a stream must have come.

        A server that supports initial events sends them at once. One that does not sends changes only, now and then. So
        the deadline moves only while many new objects arrive.
        """
        if not self._due or len(self.items) >= self._had + _POUR:
            self._due, self._had = now + INITIAL_EVENTS_TIMEOUT, len(self.items)
        return self._due
