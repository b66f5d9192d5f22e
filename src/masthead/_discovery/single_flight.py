"""One request for all who want its answer."""

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
    """Keeps costly work from being done twice at once.

    Guarantees: no two flights overlap. Whoever asks while one is under way shares what comes of it, success or
    failure; whoever wants what is true *now* shares the next one instead, together with all others who came meanwhile.
    Nothing is remembered beyond that: a later caller starts a new flight.

    Cancellation: a flight belongs to the caller that began it, and is cancelled with that caller; then the first of
    those that wait begins another. A cancelled waiter disturbs nobody.

    Threads: belongs to one event loop.
    """

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        """Share this work."""
        self._work = work
        self._lock = asyncio.Lock()
        self._started = 0
        self._finished = 0
        self._outcome: T | MastheadError | None = None

    async def run(self, *, after_now: bool = False) -> T:
        """Do the work, or share what comes of it.

        Args:
            after_now: Share nothing that began before this call, because it may not have seen what happened since.

        Raises:
            MastheadError: if the work raised it.
        """
        is_joining = self._lock.locked() and not after_now
        wanted = self._started if is_joining else self._started + 1
        async with self._lock:
            if self._finished < wanted:
                return await self._start()
            if isinstance(self._outcome, MastheadError):
                # An error of each caller's own: raised in many tasks, one would collect all their tracebacks.
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
