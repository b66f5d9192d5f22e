"""Exponential backoff, and fixed retry schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from masthead._module import set_module

__all__ = [
    "DEFAULT_BACKOFF",
    "DEFAULT_RETRY",
    "MAX_RECONNECT_DELAY",
    "Attempts",
    "Backoff",
    "Random",
    "jittered",
    "reconnect_backoff",
]

MAX_RECONNECT_DELAY: Final = 1.6
"""Maximum seconds before another attempt to reach an unreachable server."""

Random: TypeAlias = Callable[[], float]
"""Returns numbers in [0, 1), as `random.random` does."""


def jittered(delay: float, jitter: float, random: Random) -> float:
    """Add jitter to a delay, up to ``jitter`` times itself, so that clients do not return in step."""
    # Only longer, never shorter: a delay that the server requested is a minimum.
    return delay * (1.0 + jitter * random())


@set_module("masthead")
class Backoff:
    """Delays that grow while attempts fail, and are reset by progress.

    ::

        rested ──next──> first ──next──> first * factor ──next──> ... ──next──> cap ──┐
          ^                │                   │                        ^    └──next──┘
          └────────────────┴──────progress─────┴───────────reset────────────────┘

    A successful connection is not progress: an overloaded server accepts connections and drops them. Time alone never
    resets the delays, so that a long outage does not cause a burst every few minutes.
    differs from client-go: there, delays are reset two minutes after the last reset, whatever happened; and
    jitter comes on top of the cap, so that a delay of 30 seconds may be one of 60.

    Args:
        first: The first delay, in seconds.
        factor: The ratio of each delay to the one before.
        cap: The maximum delay, jitter included. Clients that have reached it are out of step by then.
        jitter: The maximum random extension of a delay, as a multiple of it.
        reset_after: Seconds after the end of the last delay from which progress resets the delays. With 0, any
            progress does.

    Raises:
        ValueError: If delays would shrink, or be negative.
    """

    __slots__ = ("_base", "_cap", "_factor", "_first", "_jitter", "_reset_after", "_waited_until")

    def __init__(
        self,
        first: float = 0.8,
        factor: float = 2.0,
        cap: float = 30.0,
        jitter: float = 1.0,
        *,
        reset_after: float = 0.0,
    ) -> None:
        if first < 0 or factor < 1 or cap < first or jitter < 0 or reset_after < 0:
            raise ValueError(
                "a backoff needs 0 <= first <= cap, factor >= 1, jitter >= 0 and reset_after >= 0, "
                f"not {first=}, {cap=}, {factor=}, {jitter=}, {reset_after=}"
            )
        self._first = first
        self._factor = factor
        self._cap = cap
        self._jitter = jitter
        self._reset_after = reset_after
        self._base = first
        self._waited_until = 0.0

    def next(self, now: float, random: Random) -> float:
        """The delay in seconds after a failure at this time."""
        # The cap includes the jitter.
        delay = min(self._cap, jittered(self._base, self._jitter, random))
        self._base = min(self._cap, self._base * self._factor)
        self._waited_until = now + delay
        return delay

    def progress(self, now: float) -> None:
        """Note progress; reset the delays if it comes late enough after the last one."""
        # A timer may fire slightly early.
        if max(0.0, now - self._waited_until) >= self._reset_after:
            self.reset()

    def reset(self) -> None:
        """Start again with the first delay."""
        self._base = self._first


def reconnect_backoff() -> Backoff:
    """Create the backoff for an unreachable server.

    Delays stay short, because an attempt costs such a server nothing, and clients should notice its return within two
    seconds. A thousand clients return spread over more than a second.
    differs from client-go: there,
    all failures have the same delays, which grow to 30 s and, with jitter, to 60.
    """
    return Backoff(first=0.2, cap=MAX_RECONNECT_DELAY)


@set_module("masthead")
@dataclass(frozen=True, slots=True)
class Attempts:
    """A retry schedule for operations that are expected to succeed soon.

    Attributes:
        count: The number of attempts, the first included.
        first: The delay between the first and the second attempt, in seconds.
        factor: The ratio of each delay to the one before.
        jitter: The maximum random extension of a delay, as a multiple of it.
    """

    count: int
    first: float
    factor: float
    jitter: float

    def delays(self, random: Random) -> Iterator[float]:
        """The delays in seconds after each attempt but the last: one fewer than there are attempts."""
        # One fewer than attempts: no delay follows the last one.
        base = self.first
        for _ in range(self.count - 1):
            yield jittered(base, self.jitter, random)
            base *= self.factor


DEFAULT_RETRY: Final = Attempts(count=5, first=0.010, factor=1.0, jitter=0.1)
"""For conflicts with occasional concurrent writers; client-go's numbers."""

DEFAULT_BACKOFF: Final = Attempts(count=4, first=0.010, factor=5.0, jitter=0.1)
"""For conflicts with a controller that writes the same object; client-go's numbers."""
