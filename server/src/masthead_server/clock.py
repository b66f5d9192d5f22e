"""The server's clock: the system's, or a virtual clock that a test advances.

All timestamps and timers of the server use it: bookmarks, the timeouts of watches, grace periods, compaction.
With a `VirtualClock` no timer fires until `advance` is called; then all due timers fire immediately and in
order.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from masthead._module import set_module
from masthead.errors import ArgumentError, ConfigError
from masthead_server.argument_checks import check_number, check_type

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["Clock", "SystemClock", "Timer", "VirtualClock", "add_seconds", "stamp"]

_MAX_TIMER_SECONDS: Final = 100 * 365 * 86400.0
"""Seconds of the longest timer: a hundred years."""
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_FEW: Final = 100
"""Timers that may be pending before cancelled ones are pruned."""


@set_module("masthead.server")
class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancel the call; does nothing if it was made."""
        ...


@set_module("masthead.server")
class Clock(Protocol):
    """The time, and timers."""

    def now(self) -> datetime:
        """Return the time, with its zone."""
        ...

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call once, after so many seconds, in the server's own thread."""
        ...


@set_module("masthead.server")
class SystemClock:
    """The system's clock, and the running loop's timers."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call once, after so many seconds."""
        return asyncio.get_running_loop().call_later(min(seconds, _MAX_TIMER_SECONDS), call)


@set_module("masthead.server")
class VirtualClock:
    """A clock that only `advance` moves.

    It belongs to one server at a time: ``run(clock=VirtualClock)`` makes one for the server,
    ``clock=VirtualClock(start)`` uses this one. Advance it through `Server.advance`, which does so in the
    server's thread.

    Args:
        start: Its first time, with its zone. By default, the beginning of 2026 in UTC, or the second after the last
            time in the objects that the server starts with, if that is later.

    Raises:
        TypeError: If the start is no datetime.
        ArgumentError: If it has no time zone.
    """

    def __init__(self, start: datetime | None = None) -> None:
        if start is not None:
            check_type("the start of a virtual clock", start, datetime, "a datetime with a time zone")
            if start.tzinfo is None:
                raise ArgumentError("the start of a virtual clock must have a time zone, such as UTC", value=start)
        self._now = _START if start is None else start
        self._may_begin_later = start is None
        self._order = itertools.count()
        self._timers: list[tuple[datetime, int, _VirtualTimer]] = []
        self._prune_at = _FEW
        self._claimed = threading.Lock()

    @property
    def pending(self) -> int:
        """How many timers are pending; some of them may have been cancelled."""
        return len(self._timers)

    @property
    def may_begin_later(self) -> bool:
        """Whether the clock has neither a start nor been advanced, so that a server chooses its first time."""
        return self._may_begin_later

    def begin_after(self, moment: datetime) -> None:
        """Begin in the second after a moment, if the clock may begin later; timers move with it."""
        begin = add_seconds(moment.replace(microsecond=0), 1)
        if not self._may_begin_later or begin <= self._now:
            return
        later, self._now = begin - self._now, begin
        self._timers = [(due + later, number, timer) for due, number, timer in self._timers]

    def now(self) -> datetime:
        """Return the time that the clock was advanced to."""
        return self._now

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call once, while `advance` passes over that moment."""
        timer = _VirtualTimer(call)
        if len(self._timers) > self._prune_at:
            self._prune()
        heapq.heappush(self._timers, (add_seconds(self._now, seconds), next(self._order), timer))
        return timer

    def advance(self, seconds: float, *, drain: Callable[[], object] = lambda: None) -> None:
        """Advance the time, and fire the timers that are due on the way, in order and each at its own time.

        Args:
            seconds: How far.
            drain: Does the work that timers cause, at their time: called first, and after each timer.

        Raises:
            TypeError: If the number of seconds is no number.
            ValueError: If it is negative or NaN, or leads beyond the year 9999.
        """
        check_number("seconds", seconds)
        if seconds < 0:
            raise ArgumentError(f"time does not go back: cannot advance by {seconds} seconds", value=seconds)
        self._may_begin_later = False
        try:
            end = self._now + timedelta(seconds=seconds)
        except OverflowError:
            problem = f"the clock ends with the year 9999: cannot advance by {seconds} seconds"
            raise ArgumentError(problem, value=seconds) from None
        drain()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            # A timer that was due in the past must not turn the time back.
            self._now = max(self._now, due)
            timer.fire()
            drain()
        self._now = end

    @contextmanager
    def claim(self) -> Generator[None]:
        """Claim the clock for one server for the length of a block.

        Raises:
            ConfigError: If another server uses it.
        """
        if not self._claimed.acquire(blocking=False):
            raise ConfigError(
                "another server uses this virtual clock; with clock=VirtualClock each server gets one of its own"
            )
        try:
            yield
        finally:
            self._claimed.release()

    def _prune(self) -> None:
        """Drop cancelled timers, of which a server with many watches has many."""
        self._timers = [entry for entry in self._timers if not entry[2].is_cancelled]
        heapq.heapify(self._timers)
        self._prune_at = max(_FEW, 2 * len(self._timers))


class _VirtualTimer:
    __slots__ = ("_call",)

    def __init__(self, call: Callable[[], object]) -> None:
        self._call: Callable[[], object] | None = call

    @property
    def is_cancelled(self) -> bool:
        return self._call is None

    def cancel(self) -> None:
        self._call = None

    def fire(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()


_SECONDS: Final = len("2006-01-02T15:04:05")


def add_seconds(when: datetime, seconds: float) -> datetime:
    """Return the time so many seconds later, at most the end of the year 9999."""
    try:
        return when + timedelta(seconds=seconds)
    # Objects may have grace periods and deadlines of 2**63 seconds.
    except OverflowError:
        return datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) if seconds > 0 else datetime(1, 1, 1, tzinfo=UTC)


def stamp(moment: datetime) -> str:
    """Format a time for metadata: whole seconds, in UTC."""
    if moment.tzinfo is not UTC:  # it nearly always is
        moment = moment.astimezone(UTC)
    return f"{moment.isoformat(timespec='seconds')[:_SECONDS]}Z"
