"""Sharing of one operation among concurrent callers."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from masthead.errors import MastheadError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["SingleFlight"]

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Runs an operation once for all concurrent callers, like Go's ``singleflight``.

    Guarantees: runs do not overlap. A caller that arrives during a run shares its outcome, success or failure. A caller
    that needs the state as of its own call (`after_now`) shares the next run instead, with all other callers that
    arrived during this one. Nothing is cached: a later caller starts a new run.

    Cancellation: a run is cancelled with the caller that started it; the first waiting caller then starts another. A
    cancelled waiter does not affect the others.

    Threads: belongs to one event loop.
    """

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        """Share this operation."""
        self._work = work
        self._lock = asyncio.Lock()
        self._started = 0
        self._finished = 0
        self._outcome: T | MastheadError | None = None

    async def run(self, *, after_now: bool = False) -> T:
        """Run the operation, or share the outcome of a run in progress.

        Args:
            after_now: Do not share a run that started before this call, as it may have missed recent changes.

        Raises:
            MastheadError: If the operation raises it.
        """
        is_joining = self._lock.locked() and not after_now
        wanted = self._started if is_joining else self._started + 1
        async with self._lock:
            if self._finished < wanted:
                return await self._start()
            if isinstance(self._outcome, MastheadError):
                # Each caller raises a copy: a shared exception would collect the tracebacks of all tasks.
                raise copy.copy(self._outcome)
            return cast("T", self._outcome)

    async def _start(self) -> T:
        self._started += 1
        number = self._started
        try:
            outcome = await self._work()
        except MastheadError as error:
            self._outcome, self._finished = copy.copy(error), number
            raise
        self._outcome, self._finished = outcome, number
        return outcome
