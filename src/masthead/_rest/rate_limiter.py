"""The client-side rate limit."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead._sansio.token_bucket import TokenBucket
from masthead.errors import ArgumentError, DeadlineError

if TYPE_CHECKING:
    from masthead._rest.lifetime import ClientLifetime
    from masthead._sansio.token_bucket import Reservation

__all__ = ["RateLimit", "RateLimiter"]

_log: Final = logging.getLogger("masthead.rest")

_LOG_AFTER: Final = 1.0
"""Delays by the rate limit, in seconds, from which on they are logged: they look like a slow server."""
_LOG_INTERVAL: Final = 10.0
"""Minimum seconds between two such log lines: a queue of calls would fill the log."""


@set_module("masthead.rest")
class RateLimit:
    """A client-side rate limit, which several clients can share.

    ::

        limit = masthead.rest.RateLimit(20, burst=40)
        with masthead.Client(rate=limit) as one, masthead.Client(rate=limit, impersonate="jane") as other:
            print(len(one.core_v1.pods.list()), len(other.core_v1.pods.list()))

    Args:
        rate: Calls per second.
        burst: The number of calls that may be sent without delay after an idle time.

    Raises:
        ArgumentError: If `rate` is not positive, or `burst` is less than 1.

    Threads: may be used from any.
    """

    def __init__(self, rate: float, burst: int = 10) -> None:
        try:
            self._bucket = TokenBucket(rate, burst)
        # TypeError for values that are no numbers.
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
        """The number of calls that may be sent without delay after an idle time."""
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
    """Delays the calls of one client, first come, first served.

    Args:
        limit: The limit, which other clients may share.
        lifetime: Ends the waits when the client closes.
        server: The server's name in logs.
    """

    def __init__(self, limit: RateLimit, lifetime: ClientLifetime, server: str = "the API server") -> None:
        self._limit = limit
        self._lifetime = lifetime
        self._server = server
        self._next_log = -math.inf

    async def wait(self, left: float) -> None:
        """Wait for a token. A cancelled call returns its token.

        Args:
            left: Seconds left until the call's deadline.

        Raises:
            DeadlineError: If the token comes after the deadline; raised without waiting.
            ClosedError: If the client closes during the wait.
        """
        limit = self._limit
        now = asyncio.get_running_loop().time()
        token = limit.reserve(now)
        # The usual case; it must not yield to the event loop.
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
            await self._lifetime.pause(token.wait)
        except BaseException:
            # Given back: calls that are never sent must not delay others.
            limit.cancel(token)
            raise
