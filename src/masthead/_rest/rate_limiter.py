"""The client-side rate limit, and the deadline of a call."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._module import set_module
from masthead._sansio.token_bucket import TokenBucket
from masthead.errors import ArgumentError, ClosedError, DeadlineError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from masthead._sansio.token_bucket import Reservation

__all__ = ["Deadline", "RateLimit", "RateLimiter"]

_log: Final = logging.getLogger("masthead.rest")

_LOG_AFTER: Final = 1.0
"""Delays by the rate limit, in seconds, from which on they are logged: they look like a slow server."""
_LOG_INTERVAL: Final = 10.0
"""Minimum seconds between two such log lines: a queue of calls would fill the log."""

_CLOSED: Final = "the client was closed while a call waited for its credentials; make a new one"

T = TypeVar("T")


class Deadline:
    """The deadline of a call.

    Args:
        seconds: The timeout; ``math.inf`` for no limit.

    Raises:
        ArgumentError: If the timeout is not a number.
    """

    __slots__ = ("_end", "_now")

    def __init__(self, seconds: float) -> None:
        self._now = asyncio.get_running_loop().time
        try:
            self._end = self._now() + seconds
        except TypeError:
            raise ArgumentError(f"timeout is {seconds!r}; it must be seconds, such as 30.0", value=seconds) from None

    def left(self) -> float:
        """The seconds left."""
        return self._end - self._now()

    async def uncounted(self, work: Awaitable[T]) -> T:
        """Wait for something, and extend the deadline by the time it took."""
        start = self._now()
        result = await work
        self._end += self._now() - start
        return result


@set_module("masthead.rest")
class RateLimit:
    """A client-side rate limit, which several clients can share.

    ::

        limit = masthead.rest.RateLimit(20, burst=40)
        with masthead.Client(rate=limit) as one, masthead.Client(rate=limit, impersonate="jane") as other:
            print(len(one.core_v1.pods.list()), len(other.core_v1.pods.list()))

    Args:
        rate: Calls per second.
        burst: How many calls may be sent at once after an idle time.

    Raises:
        ArgumentError: If `rate` is not positive, or `burst` is less than 1.

    Threads: may be used from any.
    """

    def __init__(self, rate: float, burst: int = 10) -> None:
        try:
            self._bucket = TokenBucket(rate, burst)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"a rate limit needs rate > 0 and burst >= 1, not {rate=}, {burst=}", value=(rate, burst)
            ) from None
        self._rate = rate
        self._burst = burst
        self._lock = threading.Lock()

    @property
    def rate(self) -> float:
        """Calls per second."""
        return self._rate

    @property
    def burst(self) -> int:
        """How many calls may be sent at once after an idle time."""
        return self._burst

    def reserve(self, now: float) -> Reservation:
        """Reserve the next call. Its sender waits for its ``wait`` seconds, or cancels it."""
        with self._lock:
            return self._bucket.reserve(now)

    def cancel(self, reservation: Reservation) -> None:
        """Return a reservation whose call is not sent."""
        with self._lock:
            self._bucket.cancel(reservation)

    def __repr__(self) -> str:
        return f"RateLimit({self._rate:g}, burst={self._burst})"


class RateLimiter:
    """Limits the rate of calls, first come, first served; closing ends all waits.

    Args:
        limit: The limit, which other clients may share; None for no limit.
        server: The server's name in logs.
    """

    def __init__(self, limit: RateLimit | None, server: str = "the API server") -> None:
        self._server = server
        self._limit = limit
        self._closing = asyncio.Event()
        self._next_log = -math.inf
        self._waits: set[asyncio.Task[object]] = set()

    async def wait(self, left: float) -> None:
        """Wait for a token. A cancelled call returns its token.

        Args:
            left: Seconds left until the call's deadline.

        Raises:
            DeadlineError: If the token comes after the deadline; raised at once.
            ClosedError: If the client is closed meanwhile.
        """
        limit = self._limit
        if limit is None:
            return
        now = asyncio.get_running_loop().time()
        token = limit.reserve(now)
        if not token.wait:
            return
        try:
            # At once: to wait first would end in the same error.
            if token.wait >= left:
                raise DeadlineError(
                    f"not sent: the client-side rate limit of {limit.rate:g} calls per second delays it by "
                    f"{token.wait:.1f} s, beyond its deadline; raise rate or burst, or the timeout"
                )
            if token.wait > _LOG_AFTER and now >= self._next_log:
                self._next_log = now + _LOG_INTERVAL
                _log.info(
                    "%s: the client-side rate limit of %g calls per second delays a call by %.1f s",
                    self._server,
                    limit.rate,
                    token.wait,
                )
            await self.pause(token.wait)
        except BaseException:
            # Given back: calls that are never sent must not delay others.
            limit.cancel(token)
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
