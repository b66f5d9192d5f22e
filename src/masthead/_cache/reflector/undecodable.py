"""The objects that cannot be stored, and why."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cache.reflector.status import ReflectorStatus

__all__ = ["UndecodableObjects"]

_log: Final = logging.getLogger("masthead.cache")
_MAX_NAMED: Final = 5
"""Objects named in one log line."""


class UndecodableObjects:
    """Records the objects that cannot be stored, and logs each problem once.

    Args:
        status: The reflector's status, which has the problems by key.
        label: The source's name in logs.
        is_known: Whether the store has an object; None if there is no store.
    """

    def __init__(self, status: ReflectorStatus, label: str, is_known: Callable[[str], bool] | None) -> None:
        self.status = status
        self._label = label
        self._is_known = is_known
        self._unlogged: dict[str, str] = {}

    def add(self, key: str, problem: str) -> None:
        """Record an object that cannot be stored."""
        if self.status.broken.get(key) != problem:
            self.status.broken[key] = self._unlogged[key] = problem

    def discard(self, key: str) -> None:
        """Forget an object that was decoded or deleted."""
        self.status.broken.pop(key, None)

    def replace(self, broken: Mapping[str, str]) -> None:
        """Replace all problems by those of a new state."""
        before, self.status.broken = self.status.broken, dict(broken)
        self._unlogged = {key: problem for key, problem in broken.items() if before.get(key) != problem}

    def log_new(self) -> None:
        """Log new problems in one line; called when the store has everything that arrived with them."""
        if not self._unlogged:
            return
        unlogged, self._unlogged = self._unlogged, {}
        key, problem = next(iter(unlogged.items()))
        if len(unlogged) == 1:
            _log.warning("%s: %r %s: %s", self._label, key, self._fate(key), problem)
            return
        # One line for all: a changed schema breaks every object of a kind at the same time.
        names = ", ".join(map(repr, list(unlogged)[:_MAX_NAMED])) + (", ..." if len(unlogged) > _MAX_NAMED else "")
        _log.warning(
            "%s: %d objects cannot be used (%s); the first %s: %s",
            self._label,
            len(unlogged),
            names,
            self._fate(key),
            problem,
        )

    def _fate(self, key: str) -> str:
        if self._is_known is None:
            return "is put aside"
        return "is left as it was" if self._is_known(key) else "is not in the store"
