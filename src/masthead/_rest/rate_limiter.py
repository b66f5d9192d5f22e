"""Who may go when, and who waits."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._sansio.token_bucket import TokenBucket
from masthead.errors import ClosedError, DeadlineError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

__all__ = ["RateLimiter", "Deadline"]

_log: Final = logging.getLogger("masthead.rest")

_WORTH_TELLING: Final = 1.0
"""Seconds of waiting for the client's own rate limit that look like a slow server, if nobody says otherwise."""

_CLOSED: Final = "the client was closed while a call waited for its credentials; make a new one"

T = TypeVar("T")


class Deadline:
    """How much of a call's time is left.

    Args:
        seconds: How much there is; ``math.inf`` for no end.

    Raises:
        InvalidValueError: if it is no number.
    """

    __slots__ = ("_end", "_now")

    def __init__(self, seconds: float) -> None:
        self._now = asyncio.get_running_loop().time
        try:
            self._end = self._now() + seconds
        except TypeError:
            raise InvalidValueError(
                f"timeout is {seconds!r}; give seconds, such as 30.0", value=seconds
            ) from None

    def left(self) -> float:
        """The seconds that are left."""
        return self._end - self._now()

    async def uncounted(self, wait: Awaitable[T]) -> T:
        """Wait for something on nobody's time."""
        began = self._now()
        result = await wait
        self._end += self._now() - began
        return result


class RateLimiter:
    """Lets calls go at a rate, in the order in which they came, and makes them wait; closing wakes all who do.

    Args:
        rate: Calls a second; None for any number.
        burst: How many may go at once after a quiet time.
        server: What logs call the server.
    """

    def __init__(self, rate: float | None, burst: int, server: str = "the API server") -> None:
        self._server = server
        self._bucket = None if rate is None else TokenBucket(rate, burst)
        self._rate = rate
        self._closing = asyncio.Event()
        self._waits: set[asyncio.Task[object]] = set()

    async def turn(self, left: float) -> None:
        """Wait until it is this call's turn. Whoever is cancelled meanwhile gives the turn back.

        Args:
            left: Seconds that the call has.

        Raises:
            DeadlineError: if its turn comes too late; nothing is waited for then.
            ClosedError: if the client is closed meanwhile.
        """
        if self._bucket is None:
            return
        turn = self._bucket.reserve(asyncio.get_running_loop().time())
        if not turn.wait:
            return
        try:
            if turn.wait >= left:
                raise DeadlineError(
                    f"not sent: the client's own limit of {self._rate:g} calls a second lets it go in {turn.wait:.1f} s,"
                    " which is too late; raise rate or burst, or allow more time"
                )
            if turn.wait > _WORTH_TELLING:
                _log.info(
                    "%s: the client's own limit of %g calls a second delays one by %.1f s",
                    self._server,
                    self._rate,
                    turn.wait,
                )
            await self.pause(turn.wait)
        except BaseException:
            self._bucket.cancel(turn)
            raise

    async def pause(self, seconds: float) -> None:
        """Wait.

        Raises:
            ClosedError: if the client is closed meanwhile.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return
        raise ClosedError("the client was closed while a call waited to be sent; make a new one")

    async def until_closed(self, work: Coroutine[object, None, T], deadline: Deadline) -> T:
        """Wait for something on nobody's time, as long as the client is open.

        Args:
            work: What to wait for.
            deadline: The call's, from which the wait does not take.

        Raises:
            ClosedError: if the client is closed meanwhile; the work is cancelled then.
        """
        if self._closing.is_set():
            work.close()
            raise ClosedError(_CLOSED)
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._waits.add(task)
        try:
            return await deadline.uncounted(work)
        except asyncio.CancelledError:
            if not self._closing.is_set() or task.uncancel():  # somebody else cancels it, too
                raise
        finally:
            self._waits.discard(task)
        raise ClosedError(_CLOSED)

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closing.set()
        for task in self._waits:
            task.cancel()
