"""How many requests may go in a second."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = ["Reservation", "TokenBucket"]


@dataclass(eq=False, slots=True)
class Reservation:
    """A place in the row.

    Attributes:
        at: When its holder may go.
        wait: How many seconds that was away when the place was taken; 0 for at once.
        full_before: When the bucket would have been full again without it.
        is_cancelled: Whether it was given back.
    """

    at: float
    wait: float
    full_before: float
    is_cancelled: bool = False


class TokenBucket:
    """Lets requests go at a rate, and some at once after a quiet time; who came first goes first.

    In any stretch of ``t`` seconds at most ``burst + rate * t`` go. The bucket starts full.

    ::

        reserve: at once while tokens are left, else when the next one has dripped in
        cancel:  the last places of the row, once all of them are given up, are taken back as if they had never been;
                 one in the middle stays empty, since those behind it wait already for a moment they were told

    It holds no tokens: one number, the moment at which the bucket will be full again, says all.

    Args:
        rate: How many tokens drip in per second.
        burst: How many there can be.

    Raises:
        ValueError: if nothing could ever go.
    """

    __slots__ = ("_full_at", "_interval", "_row", "_slack")

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs rate > 0 and burst >= 1, not {rate=}, {burst=}")
        self._interval = 1.0 / rate
        self._slack = (burst - 1) * self._interval
        self._full_at = float("-inf")
        self._row: deque[Reservation] = deque()

    def reserve(self, now: float) -> Reservation:
        """Take the next place in the row. Who gets it waits for its ``wait`` seconds and goes, or cancels it."""
        self._forget_gone(now)
        at = max(now, self._full_at - self._slack)
        place = Reservation(at, at - now, self._full_at)
        self._full_at = max(now, self._full_at) + self._interval
        self._row.append(place)
        return place

    def cancel(self, place: Reservation) -> None:
        """Give back a place that was not used. Twice is harmless; so is one whose time is long past."""
        place.is_cancelled = True
        while self._row and self._row[-1].is_cancelled:
            self._full_at = self._row.pop().full_before

    def _forget_gone(self, now: float) -> None:
        """Count those as gone whose time has come, so that the row holds none but those who wait."""
        while self._row and self._row[0].at <= now:
            self._row.popleft()
