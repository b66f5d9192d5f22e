"""The schedule of resyncs: when which handler receives every object again.

An informer looks at its handlers at every tick of its *check period*; those whose own period has passed are due::

     check period    start────────tick────────tick────────tick────────tick────────tick
     period = check               due         due         due         due         due
     period between 1 and 2 checks            due                     due

So a handler's interval is its period, rounded up to ticks; the first one begins when the handler joins, or when the
informer starts, whichever is later. The check period is the informer's period, or the shortest
that a handler asked for before the start; after it, a handler cannot have a shorter one. What happens::

     join ──> joined ──start──> ticking ──due──┐
                                  ^            │ next tick: a check period from now
                                  └────────────┘

No tick is made up for: after a pause, however long, those that are due are due once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["SHORTEST", "ResyncSchedule"]

SHORTEST: Final = 1.0
"""The shortest period, in seconds; client-go's number."""

_HAIR: Final = 0.001
"""By so much a time may be missed. Timers go off early, and sums of fractions come out too large; neither is a reason to
wait for another tick."""


@dataclass(slots=True)
class _Joined:
    period: float
    due: float


class ResyncSchedule:
    """The handlers of one informer, and when each is due for a resync.

    Args:
        period: The informer's own period, in seconds; 0 for no resync, ever. Below `SHORTEST`, it is that.
            differs from client-go: there, it ticks as often as configured, though no handler can be due then.

    Attributes:
        adjustment: What the last `join` changed about the period that was asked for, and why, as a sentence to warn with;
            empty if nothing.

    Raises:
        ArgumentError: If the period is negative, or not a number.
    """

    __slots__ = ("_check", "_default", "_handlers", "_next", "adjustment")

    def __init__(self, period: float) -> None:
        _refuse_nonsense(period)
        self._default = self._check = max(period, SHORTEST) if period else 0.0
        self._handlers: dict[Hashable, _Joined] = {}
        self._next: float | None = None
        self.adjustment = ""

    @property
    def next_check(self) -> float | None:
        """When to ask what is `due`; None if never, or not started."""
        return self._next

    @property
    def check_period(self) -> float:
        """How many seconds lie between two ticks; 0 if there are none."""
        return self._check

    def join(self, handler: Hashable, period: float | None, now: float) -> float:
        """Add a handler, and return the period that it gets; see `adjustment` if that is not what was asked for.

        Args:
            handler: Which; one that has joined before gets a new period.
            period: Seconds between its resyncs; 0 for never, None for as often as the informer's
                period says.
            now: The time; before the start it does not matter.

        Raises:
            ArgumentError: If the period is negative, or not a number.
        """
        wanted = self._default if period is None else period
        _refuse_nonsense(wanted)
        effective, self.adjustment = self._granted(wanted)
        if effective:
            # Those who have joined keep theirs: a check period that shrinks gives no handler a reason to wait longer.
            self._check = min(self._check, effective)
        self._handlers[handler] = _Joined(effective, now + effective)
        return effective

    def leave(self, handler: Hashable) -> None:
        """Remove a handler; one that is not there does no harm. The check period stays."""
        self._handlers.pop(handler, None)

    def start(self, now: float) -> None:
        """Begin to tick; to start again changes nothing.

        The periods of the handlers that have joined begin now: before the start, there may have been no clock.
        """
        if self._check and self._next is None:
            self._next = now + self._check
            for joined in self._handlers.values():
                joined.due = now + joined.period

    def due(self, now: float) -> frozenset[Hashable]:
        """Those whose time has come by now; each is next due a period from now.

        Before `next_check`, no handler is due.
        """
        if self._next is None or now < self._next - _HAIR:
            return frozenset()
        # From now, not from when it was due: after a long pause, resyncs must not follow each other at once.
        self._next = now + self._check
        due: set[Hashable] = set()
        for handler, joined in self._handlers.items():
            if joined.period and now >= joined.due - _HAIR:
                joined.due = now + joined.period
                due.add(handler)
        return frozenset(due)

    def _granted(self, wanted: float) -> tuple[float, str]:
        """The period that a handler gets, and why it is another than it wants."""
        if not wanted:
            return 0.0, ""
        if not self._check:
            return (
                0.0,
                f"a resync every {wanted:g} s was asked for, but the informer has no resync period: never",
            )
        # As in client-go, the check period of a running informer is not shortened any more.
        if self._next is not None and wanted < self._check:
            return self._check, (
                f"a resync every {wanted:g} s was asked for, but the informer has started, "
                f"and looks every {self._check:g} s: every {self._check:g} s"
            )
        if wanted < SHORTEST:
            return (
                SHORTEST,
                f"a resync every {wanted:g} s was asked for: every {SHORTEST:g} s, the shortest period",
            )
        return wanted, ""


def _refuse_nonsense(period: float) -> None:
    if not 0 <= period < math.inf:
        raise ArgumentError(f"a resync period of {period} s is invalid; give 0, or more, seconds", value=period)
