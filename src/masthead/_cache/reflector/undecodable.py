"""The objects that cannot be used: which, and why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cache.reflector.status import ReflectorStatus

__all__ = ["UndecodableObjects"]

_log: Final = logging.getLogger("masthead.cache")
_NAMED: Final = 5
"""So many objects are named in one line."""


class UndecodableObjects:
    """Notes down the objects that cannot be used, and logs each once for each thing that is wrong with it.

    Args:
        status: Where they are noted down.
        label: What the log calls the collection.
        is_known: Whether the store has an object; None if that is unknown.
    """

    def __init__(self, status: ReflectorStatus, label: str, is_known: Callable[[str], bool] | None) -> None:
        self._status = status
        self._label = label
        self._is_known = is_known
        self._unsaid: dict[str, str] = {}

    def add(self, key: str, problem: str) -> None:
        """An object cannot be used."""
        if self._status.broken.get(key) != problem:
            self._status.broken[key] = self._unsaid[key] = problem

    def discard(self, key: str) -> None:
        """An object is well, or gone."""
        self._status.broken.pop(key, None)

    def replace(self, broken: Mapping[str, str]) -> None:
        """All that cannot be used is this."""
        was, self._status.broken = self._status.broken, dict(broken)
        self._unsaid = {key: problem for key, problem in broken.items() if was.get(key) != problem}

    def log_new(self) -> None:
        """Log the new ones, in one line. To be called when the store has everything that arrived with them."""
        if not self._unsaid:
            return
        unsaid, self._unsaid = self._unsaid, {}
        key, problem = next(iter(unsaid.items()))
        if len(unsaid) == 1:
            _log.warning("%s: %r %s: %s", self._label, key, self._fate(key), problem)
            return
        # One line for all: a changed schema breaks every object of a kind at once.
        names = ", ".join(map(repr, list(unsaid)[:_NAMED])) + (", ..." if len(unsaid) > _NAMED else "")
        _log.warning(
            "%s: %d objects cannot be used (%s); the first %s: %s",
            self._label,
            len(unsaid),
            names,
            self._fate(key),
            problem,
        )

    def _fate(self, key: str) -> str:
        if self._is_known is None:
            return "is put aside"
        return "is left as it was" if self._is_known(key) else "is not in the store"
