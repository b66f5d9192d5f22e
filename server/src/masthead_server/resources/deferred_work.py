"""Deferred work: a request that has to wait is abandoned, and handled again when the result is available.

The write pipeline is synchronous: nothing else happens between its first step and its last. Slow work, such as the call of
a webhook or the merge of large objects, must not be done in the event loop. So a request that needs it is abandoned with
`WorkNeeded` before it has changed anything. The work is awaited; then the request is handled again from the beginning, and
finds the result.
"""

from __future__ import annotations

import abc
import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable

__all__ = ["WorkNeeded", "WorkResults", "in_thread"]

T = TypeVar("T")


class WorkNeeded(Exception, abc.ABC):  # noqa: N818 - it is a request for work, not an error
    """Something has to be awaited first."""

    @abc.abstractmethod
    async def perform(self, results: WorkResults) -> None:
        """Do the work, and keep its result or failure."""


class WorkResults:
    """The results of deferred work for one request, or for one watch."""

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


def in_thread(key: Hashable, compute: Callable[[], T]) -> T:
    """Return the result of a slow computation: it runs in a thread, unless nothing can be awaited.

    Args:
        key: Identifies the computation, with everything that it depends on, among those of one request.
        compute: Computes the result from data that nothing else changes. The only error that it may raise is `StatusFailure`.

    Returns:
        The result. Callers copy it before they change it, because the request may be handled again.

    Raises:
        StatusFailure: If it failed.
        WorkNeeded: If it has to be awaited.
    """
    results = WorkResults.current()
    if results is None:
        return compute()
    found = results.find(key)
    if found is None:
        raise _ComputationNeeded(key, compute)
    return cast("_Outcome[T]", found).get()


class _Outcome(Generic[T]):
    """The outcome of a computation."""

    def __init__(self, compute: Callable[[], T]) -> None:
        self._failure: StatusFailure | None = None
        try:
            self._value = compute()
        except StatusFailure as failure:
            self._failure = failure

    def get(self) -> T:
        if self._failure is not None:
            raise self._failure
        return self._value


class _ComputationNeeded(WorkNeeded, Generic[T]):
    """Something has to be computed in a thread first."""

    def __init__(self, key: Hashable, compute: Callable[[], T]) -> None:
        super().__init__("a computation has to run in a thread first")
        self._key = key
        self._compute = compute

    async def perform(self, results: WorkResults) -> None:
        """Compute it, or wait for what it needs first."""

        def run() -> _Outcome[T]:
            with results.active():
                return _Outcome(self._compute)

        try:
            results.set(self._key, await asyncio.to_thread(run))
        except WorkNeeded as needed:
            await needed.perform(results)
