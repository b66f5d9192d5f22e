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
        at: When it becomes available.
        wait: How many seconds that was away at the time of the reservation; 0 for at once.
        full_before: When the bucket would have been full again without it.
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

        reserve: available at once while tokens are left, else when the next token is added
        cancel:  cancelled reservations at the end of the queue are undone as if they had never been made; one in the
                 middle stays unused, since the reservations after it have fixed times already

    It stores no tokens: one number, the time at which the bucket will be full again, is enough.

    Args:
        rate: How many tokens are added per second.
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
        """Reserve the next token. The caller waits for its ``wait`` seconds, or cancels it."""
        self._drop_used(now)
        at = max(now, self._full_at - self._slack)
        reservation = Reservation(at, at - now, self._full_at)
        self._full_at = max(now, self._full_at) + self._interval
        self._queue.append(reservation)
        return reservation

    def take(self, now: float) -> float:
        """Reserve the next token for good; returns how many seconds it is away. Nothing is kept of it."""
        self._queue.clear()  # what was reserved before cannot be undone any more
        wait = max(0.0, self._full_at - self._slack - now)
        self._full_at = max(now, self._full_at) + self._interval
        return wait

    def cancel(self, reservation: Reservation) -> None:
        """Return an unused token. Cancelling twice, or after its time, does nothing."""
        reservation.is_cancelled = True
        while self._queue and self._queue[-1].is_cancelled:
            self._full_at = self._queue.pop().full_before

    def _drop_used(self, now: float) -> None:
        """Remove reservations whose time has come, so that the queue holds only pending ones."""
        while self._queue and self._queue[0].at <= now:
            self._queue.popleft()
