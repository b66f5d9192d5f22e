"""A token bucket for rate limits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from masthead._module import set_module

__all__ = ["Reservation", "TokenBucket"]


@set_module("masthead.rest")
@dataclass(eq=False, slots=True)
class Reservation:
    """A reserved token.

    Attributes:
        at: The time at which the token is available.
        wait: Seconds until then at the time of the reservation; 0 if it is available immediately.
        full_before: The time at which the bucket would have been full without it.
        is_cancelled: Whether it was returned.
    """

    at: float
    wait: float
    full_before: float
    is_cancelled: bool = False


class TokenBucket:
    """Limits the rate of requests and allows bursts after an idle time; first come, first served.

    In any interval of ``t`` seconds at most ``burst + rate * t`` requests pass. The bucket starts full.

    ::

        reserve: available immediately while tokens are left, otherwise when the next token is added
        cancel:  cancelled reservations at the end of the queue are undone completely; one in the middle stays unused,
                 because the reservations after it have fixed times already

    It stores a single number, the time at which the bucket will be full again.

    Args:
        rate: Tokens added per second.
        burst: The capacity of the bucket.

    Raises:
        ValueError: If `rate` is not positive, or `burst` is less than 1.
    """

    __slots__ = ("_full_at", "_interval", "_queue", "_slack")

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs rate > 0 and burst >= 1, not {rate=}, {burst=}")
        self._interval = 1.0 / rate
        self._slack = (burst - 1) * self._interval
        self._full_at = float("-inf")
        self._queue: deque[Reservation] = deque()

    def reserve(self, now: float) -> Reservation:
        """Reserve the next token. The caller waits ``wait`` seconds, or cancels the reservation."""
        self._drop_used(now)
        # A full bucket has `burst` tokens; the slack is the refill time of all but one.
        at = max(now, self._full_at - self._slack)
        reservation = Reservation(at, at - now, self._full_at)
        self._full_at = max(now, self._full_at) + self._interval
        self._queue.append(reservation)
        return reservation

    def take(self, now: float) -> float:
        """Take the next token, without the option to cancel; return the seconds until it is available."""
        # Earlier reservations cannot be undone any more, because this token's time is fixed.
        self._queue.clear()
        wait = max(0.0, self._full_at - self._slack - now)
        self._full_at = max(now, self._full_at) + self._interval
        return wait

    def cancel(self, reservation: Reservation) -> None:
        """Return an unused token. A second cancellation, or one after its time, is a no-op."""
        reservation.is_cancelled = True
        while self._queue and self._queue[-1].is_cancelled:
            self._full_at = self._queue.pop().full_before

    def _drop_used(self, now: float) -> None:
        """Remove reservations whose time has passed."""
        while self._queue and self._queue[0].at <= now:
            self._queue.popleft()
