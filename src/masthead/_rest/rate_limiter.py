"""The client-side rate limit, and the deadline of a call."""

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

_LOG_AFTER: Final = 1.0
"""Delays by the rate limit, in seconds, from which on they are logged: they look like a slow server."""

_CLOSED: Final = "the client was closed while a call waited for its credentials; make a new one"

T = TypeVar("T")


class Deadline:
    """The deadline of a call.

    Args:
        seconds: The timeout; ``math.inf`` for no limit.

    Raises:
        InvalidValueError: If the timeout is not a number.
    """

    __slots__ = ("_end", "_now")

    def __init__(self, seconds: float) -> None:
        self._now = asyncio.get_running_loop().time
        try:
            self._end = self._now() + seconds
        except TypeError:
            raise InvalidValueError(
                f"timeout is {seconds!r}; it must be seconds, such as 30.0", value=seconds
            ) from None

    def left(self) -> float:
        """The seconds left."""
        return self._end - self._now()

    async def uncounted(self, work: Awaitable[T]) -> T:
        """Wait for something, and extend the deadline by the time it took."""
        start = self._now()
        result = await work
        self._end += self._now() - start
        return result


class RateLimiter:
    """Limits the rate of calls, first come, first served; closing ends all waits.

    Args:
        rate: Calls per second; None for no limit.
        burst: How many calls may be sent at once after an idle time.
        server: The server's name in logs.
    """

    def __init__(self, rate: float | None, burst: int, server: str = "the API server") -> None:
        self._server = server
        self._bucket = None if rate is None else TokenBucket(rate, burst)
        self._rate = rate
        self._closing = asyncio.Event()
        self._waits: set[asyncio.Task[object]] = set()

    async def wait(self, left: float) -> None:
        """Wait for a token. A cancelled call returns its token.

        Args:
            left: Seconds left until the call's deadline.

        Raises:
            DeadlineError: If the token comes after the deadline; raised at once.
            ClosedError: If the client is closed meanwhile.
        """
        if self._bucket is None:
            return
        token = self._bucket.reserve(asyncio.get_running_loop().time())
        if not token.wait:
            return
        try:
            # At once: to wait first would end in the same error.
            if token.wait >= left:
                raise DeadlineError(
                    f"not sent: the client-side rate limit of {self._rate:g} calls per second delays it by "
                    f"{token.wait:.1f} s, beyond its deadline; raise rate or burst, or the timeout"
                )
            if token.wait > _LOG_AFTER:
                _log.info(
                    "%s: the client-side rate limit of %g calls per second delays a call by %.1f s",
                    self._server,
                    self._rate,
                    token.wait,
                )
            await self.pause(token.wait)
        except BaseException:
            # Given back: calls that are never sent must not delay others.
            self._bucket.cancel(token)
            raise

    async def pause(self, seconds: float) -> None:
        """Sleep, as before a retry.

        Raises:
            ClosedError: If the client is closed meanwhile.
        """
        # Not a plain sleep: close() has to end it.
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return
        raise ClosedError("the client was closed while a call waited to be sent; make a new one")

    async def until_closed(self, work: Coroutine[object, None, T], deadline: Deadline) -> T:
        """Wait for something that does not count against a call's deadline, as long as the client is open.

        Args:
            work: What to wait for.
            deadline: The call's deadline, which is extended by the time that `work` takes.

        Raises:
            ClosedError: If the client is closed meanwhile; the work is cancelled then.
        """
        if self._closing.is_set():
            work.close()
            raise ClosedError(_CLOSED)
        task = cast("asyncio.Task[object]", asyncio.current_task())
        self._waits.add(task)
        try:
            return await deadline.uncounted(work)
        except asyncio.CancelledError:
            # `close` has cancelled the task once. Any cancellation left after taking that back is the caller's.
            if not self._closing.is_set() or task.uncancel():
                raise
        finally:
            self._waits.discard(task)
        raise ClosedError(_CLOSED)

    def close(self) -> None:
        """End all waits."""
        self._closing.set()
        for task in self._waits:
            task.cancel()
