"""Time as the server sees it: the machine's, or one that a test moves by hand.

Everything in the server that waits or tells the time does so through a clock: timestamps, bookmarks, the end of a
watch, grace periods, the ageing of history. With a `VirtualClock` nothing of it happens until `advance` is called,
and then all of it happens at once and in order.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["Clock", "SystemClock", "Timer", "VirtualClock", "stamp"]

_FEW: Final = 100
"""Calls that may wait before anybody asks which of them were cancelled."""


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Let it not come; harmless if it has already."""
        ...


class Clock(Protocol):
    """What the server asks of time."""

    def now(self) -> datetime:
        """The time, with its zone."""
        ...

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call back once, when so many seconds have passed, in the server's own thread."""
        ...


class SystemClock:
    """The machine's clock, and the running loop's timers."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call back once, when so many seconds have passed."""
        return asyncio.get_running_loop().call_later(seconds, call)


class VirtualClock:
    """A clock that stands still until it is told to advance.

    It serves one server at a time: ``run(clock=VirtualClock)`` makes one for the server, ``clock=VirtualClock(start)``
    brings one along. Move it through `Server.advance`, which does so in the server's thread.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start
        self._order = itertools.count()
        self._timers: list[tuple[datetime, int, _VirtualTimer]] = []
        self._prune_at = _FEW
        self._is_taken = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many calls it keeps; some of them may have been cancelled."""
        return len(self._timers)

    def now(self) -> datetime:
        """The time that the clock was moved to."""
        return self._now

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call back once, while `advance` passes over that moment."""
        timer = _VirtualTimer(call)
        if len(self._timers) > self._prune_at:
            self._prune()
        heapq.heappush(self._timers, (self._now + timedelta(seconds=seconds), next(self._order), timer))
        return timer

    def advance(self, seconds: float, *, settle: Callable[[], object] = lambda: None) -> None:
        """Move on, calling back whatever falls due on the way, in order and each at its own time.

        Args:
            seconds: How far.
            settle: Does what was set in motion, at the time at which it was: called first, and after each call back.

        Raises:
            ValueError: The time would go back.
        """
        if seconds < 0:
            raise ValueError(f"time does not go back: cannot advance by {seconds} seconds")
        end = self._now + timedelta(seconds=seconds)
        settle()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, due)
            timer.fire()
            settle()
        self._now = end

    @contextmanager
    def taken(self) -> Generator[None]:
        """Belong to one server for the length of a block.

        Raises:
            ConfigError: It belongs to another.
        """
        if not self._is_taken.acquire(blocking=False):
            raise ConfigError(
                "another server runs by this virtual clock; with clock=VirtualClock each server gets one of its own"
            )
        try:
            yield
        finally:
            self._is_taken.release()

    def _prune(self) -> None:
        """Forget cancelled calls, of which a server with many watches makes many."""
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


def stamp(moment: datetime) -> str:
    """Write a moment as an object's metadata has it: whole seconds, in UTC."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
