"""Turns of processes: a few in each iteration of the event loop, so that requests have theirs in between."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from masthead_server.clock import Clock, Timer

__all__ = ["TurnClock", "TurnQueue"]

_SLICE: Final = 64
"""Calls in one iteration of the event loop."""


class TurnQueue:
    """Makes calls in the order in which they come: immediately, or later if an iteration of the loop has many.

    Args:
        on_idle: Called when no call waits any more.
    """

    def __init__(self, on_idle: Callable[[], object]) -> None:
        self._on_idle = on_idle
        self._waiting: deque[Callable[[], object]] = deque()
        self._made = 0
        """Calls in this iteration."""
        self._scheduled: asyncio.Handle | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no call waits."""
        return not self._waiting

    def run(self, call: Callable[[], object]) -> None:
        """Make a call in its turn."""
        if self._scheduled is None:
            self._scheduled = asyncio.get_running_loop().call_soon(self._run_slice)
        if self._waiting or self._made == _SLICE:
            self._waiting.append(call)
            return
        self._made += 1
        call()

    async def wait(self) -> None:
        """Wait for a turn, which may be now."""
        turn = asyncio.Event()
        self.run(turn.set)
        await turn.wait()

    def _run_slice(self) -> None:
        self._scheduled = None
        self._made = min(_SLICE, len(self._waiting))
        if not self._made:
            return
        # These calls, too, are made in an iteration whose number is limited.
        self._scheduled = asyncio.get_running_loop().call_soon(self._run_slice)
        for _ in range(self._made):
            self._waiting.popleft()()
        if not self._waiting:
            self._on_idle()

    def close(self) -> None:
        """Drop the calls that wait."""
        self._waiting.clear()
        if self._scheduled is not None:
            self._scheduled.cancel()


class TurnClock:
    """A clock whose timers fire in their turn: processes that sleep equally long would all wake up at once.

    A timer that is cancelled after its moment, and before its turn, still fires.
    """

    def __init__(self, clock: Clock, turns: TurnQueue) -> None:
        self._clock = clock
        self._turns = turns

    def now(self) -> datetime:
        """Return the time of the clock."""
        return self._clock.now()

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call once, after so many seconds."""
        return self._clock.call_later(seconds, partial(self._turns.run, call))
