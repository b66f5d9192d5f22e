"""The resync schedule of handlers.

An informer checks its handlers at every tick of its *check period*; handlers whose own period has passed are due::

     check period    start────────tick────────tick────────tick────────tick────────tick
     period = check               due         due         due         due         due
     period between 1 and 2 checks            due                     due

So a handler's interval is its period, rounded up to ticks. The first interval begins when the handler joins, or when
the informer starts, whichever is later. The check period is the informer's period, or the shortest period requested by
a handler before the start; a later handler cannot have a shorter one::

     join ──> joined ──start──> ticking ──due──┐
                                  ^            │ next tick: a check period from now
                                  └────────────┘

Missed ticks are skipped: after a pause of any length, a handler is due once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["MIN_PERIOD", "ResyncSchedule"]

MIN_PERIOD: Final = 1.0
"""The shortest period, in seconds; client-go's number."""

_TOLERANCE: Final = 0.001
"""Seconds by which a handler may be due early: timers fire early, and sums of fractions are rounded up."""


@dataclass(slots=True)
class _Joined:
    period: float
    due: float


class ResyncSchedule:
    """The handlers of one informer, and their next resyncs.

    Args:
        period: The informer's period in seconds; 0 for no resyncs. At least `MIN_PERIOD`.
            differs from client-go: there, it ticks as often as configured, though no handler can be due then.

    Attributes:
        adjustment: Why the last `join` granted another period than requested, as a sentence for a warning; empty if it
            did not.

    Raises:
        ArgumentError: If the period is negative, or not a number.
    """

    __slots__ = ("_check", "_default", "_handlers", "_next", "adjustment")

    def __init__(self, period: float) -> None:
        _check_period(period)
        self._default = self._check = max(period, MIN_PERIOD) if period else 0.0
        self._handlers: dict[Hashable, _Joined] = {}
        self._next: float | None = None
        self.adjustment = ""

    @property
    def next_check(self) -> float | None:
        """The time of the next tick, or None."""
        return self._next

    @property
    def check_period(self) -> float:
        """Seconds between two ticks; 0 if there are none."""
        return self._check

    def join(self, handler: Hashable, period: float | None, now: float) -> float:
        """Add a handler; return its period, which `adjustment` explains if it is not the requested one.

        Args:
            handler: The handler; one that has joined before gets a new period.
            period: Seconds between its resyncs; 0 for never, None for the informer's period.
            now: The time; ignored before the start.

        Raises:
            ArgumentError: If the period is negative, or not a number.
        """
        requested = self._default if period is None else period
        _check_period(requested)
        effective, self.adjustment = self._grant(requested)
        if effective:
            # Handlers that joined before keep their periods: a shorter check period never delays them.
            self._check = min(self._check, effective)
        self._handlers[handler] = _Joined(effective, now + effective)
        return effective

    def leave(self, handler: Hashable) -> None:
        """Remove a handler, if it has joined. The check period stays."""
        self._handlers.pop(handler, None)

    def start(self, now: float) -> None:
        """Begin to tick. A second start is a no-op.

        The periods of all handlers begin now, because there may have been no clock before.
        """
        # Without a period there are no ticks, and a started schedule keeps its ticks.
        if self._check and self._next is None:
            self._next = now + self._check
            for joined in self._handlers.values():
                joined.due = now + joined.period

    def due(self, now: float) -> frozenset[Hashable]:
        """The handlers that are due; each is next due a period from now.

        No handler is due before `next_check`.
        """
        if self._next is None or now < self._next - _TOLERANCE:
            return frozenset()
        # From now, and not from the time of the tick: after a long pause, resyncs must not follow each other directly.
        self._next = now + self._check
        due: set[Hashable] = set()
        for handler, joined in self._handlers.items():
            if joined.period and now >= joined.due - _TOLERANCE:
                joined.due = now + joined.period
                due.add(handler)
        return frozenset(due)

    def _grant(self, requested: float) -> tuple[float, str]:
        """Return the period of a handler, and why it differs from the requested one."""
        if not requested:
            return 0.0, ""
        if not self._check:
            return (
                0.0,
                f"a resync every {requested:g} s was asked for, but the informer has no resync period: never",
            )
        # As in client-go, the check period of a running informer is not shortened any more.
        if self._next is not None and requested < self._check:
            return self._check, (
                f"a resync every {requested:g} s was asked for, but the informer has started, "
                f"and looks every {self._check:g} s: every {self._check:g} s"
            )
        if requested < MIN_PERIOD:
            return (
                MIN_PERIOD,
                f"a resync every {requested:g} s was asked for: every {MIN_PERIOD:g} s, the shortest period",
            )
        return requested, ""


def _check_period(period: float) -> None:
    if not 0 <= period < math.inf:
        raise ArgumentError(f"a resync period of {period} s is invalid; give 0, or more, seconds", value=period)
