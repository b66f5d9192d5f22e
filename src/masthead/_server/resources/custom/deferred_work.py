"""Deferred work: a request that has to wait is given up, and handled again when what it waits for is there.

The write pipeline is synchronous: nothing else happens between its first step and its last. What takes long, such as
the call of a webhook, must not be done in the event loop. So a request that needs it is given up with `WorkNeeded`,
before it has changed anything. The work is awaited, and then the request is handled again from the beginning, and
finds the result.
"""

from __future__ import annotations

import abc
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable

__all__ = ["WorkNeeded", "WorkResults"]


class WorkNeeded(Exception, abc.ABC):  # noqa: N818 - it is a request for work, not an error
    """Something has to be awaited first."""

    @abc.abstractmethod
    async def perform(self, results: WorkResults) -> None:
        """Do the work, and keep what comes of it, failures included."""


class WorkResults:
    """What was awaited so far for one request, or for one watch."""

    def __init__(self) -> None:
        self._results: dict[Hashable, object] = {}

    @classmethod
    def current(cls) -> WorkResults | None:
        """Return the results for the request that is being handled; None if nothing can be awaited."""
        return _current.get()

    @contextmanager
    def active(self) -> Generator[None]:
        """Let a request find the results during the block, which must not await anything."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def find(self, key: Hashable) -> object | None:
        """Return a result; None if it is not there yet."""
        return self._results.get(key)

    def set(self, key: Hashable, result: object) -> None:
        """Keep a result, which must not be None."""
        self._results[key] = result


_current: Final[ContextVar[WorkResults | None]] = ContextVar("_current", default=None)
