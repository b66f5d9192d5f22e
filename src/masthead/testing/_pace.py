"""Detects work without an end: fights between controllers, hot loops, and tasks that never wait."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.testing._hot_loops import MAX_RATE, find_hot_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead.testing._hot_loops import HotKey
    from masthead.testing._replica import Replica
    from masthead.testing._writes import WriteLog

__all__ = ["EndlessWork", "Pace"]

_MAX_WRITES: Final = 100
"""The maximum number of writes of an object in one wait; beyond, controllers fight about it."""
_MAX_RECONCILES: Final = 1_000
"""The maximum number of reconciles in one wait, in addition to those per object."""
_MAX_RECONCILES_PER_OBJECT: Final = 50
"""The maximum number of reconciles per cached object in one wait."""
_MAX_LINES: Final = 12
"""The maximum number of listed writes."""
_MAX_STUCK_TURNS: Final = 50_000
"""Turns of the loop without progress of time or reconciles, after which a task counts as spinning."""
_MAX_SLOW_TURNS: Final = 200_000
"""Turns of the loop without reconciles, after which time must have passed."""
_TURNS_PER_SECOND: Final = 1_000
"""Turns of the loop per virtual second without reconciles; an hour at this rate takes a test a minute."""


class EndlessWork(NamedTuple):
    """Work that will not end.

    Attributes:
        problem: Its description.
        lines: Examples.
    """

    problem: str
    lines: list[str]


class Pace:
    """Measures the work of an environment during one wait.

    Args:
        replicas: The running replicas.
        log: Their writes; its counts are reset.
    """

    def __init__(self, replicas: Callable[[], Sequence[Replica]], log: WriteLog) -> None:
        self._replicas = replicas
        self._log = log
        self._clock = asyncio.get_running_loop().time
        # Only reconciles and writes of this wait count.
        log.counts.clear()
        self._began = self._clock()
        self._before = self._reconciles()
        self._progress = self._began, self._before
        self._stuck_turns = 0
        self._slow_since = self._began
        self._slow_turns = 0

    def find_fight(self) -> EndlessWork | None:
        """Find writes and reconciles without an end, in a wait for idleness."""
        return self._find_fight(0.0)

    def find_hot_loop(self) -> EndlessWork | None:
        """Find writes and reconciles that keep time from passing."""
        seconds = self._clock() - self._began
        # First, because a hot key names the controller and the object.
        hot = self._hottest()
        if hot is not None:
            return EndlessWork(f"time hardly passes: {hot}", [])
        return self._find_fight(seconds)

    def _find_fight(self, seconds: float) -> EndlessWork | None:
        # The objects that controllers know to be fought about: they slow down, so that the number is no longer high.
        loops = [loop for replica in self._replicas() for loop in replica.runtime.loops.values()]
        fought = {obj for loop in loops for obj in loop.requests.fights.fought}
        counted = [*self._log.counts.most_common(1), *((obj, self._log.counts[obj]) for obj in sorted(fought))]
        for (resource, key), count in counted:
            # A long wait allows for periodic writes, such as heartbeats.
            if count > _MAX_WRITES + (0 if (resource, key) in fought else MAX_RATE * seconds):
                last = [
                    f"{write} by {write.field_manager or write.replica}"
                    for write in self._log.about(resource, key, _MAX_LINES)
                ]
                return EndlessWork(f"{resource} {key} was written {count} times; the last of them:", last)
        done, objects = self._reconciles() - self._before, self._cached_objects()
        if done > _MAX_RECONCILES + (_MAX_RECONCILES_PER_OBJECT + MAX_RATE * seconds) * objects:
            hot = self._hottest(min_count=1)
            problem = f"there were {done} reconciles of {objects} objects, and no end{f'; {hot}' if hot else ''}"
            return EndlessWork(problem, [])
        return None

    def count_turns(self, turns: int) -> EndlessWork | None:
        """Count turns of a busy loop, and find out whether something never waits, or hardly ever."""
        now, done = self._clock(), self._reconciles()
        # Reconciles count as progress: they may legitimately all happen at one moment.
        if done != self._progress[1]:
            self._slow_since, self._slow_turns = now, 0
        if (now, done) != self._progress:
            self._progress, self._stuck_turns = (now, done), 0
        self._stuck_turns += turns
        self._slow_turns += turns
        if self._stuck_turns >= _MAX_STUCK_TURNS:
            return EndlessWork("time does not pass: something runs again and again, and never waits", [])
        if self._slow_turns >= _MAX_SLOW_TURNS:
            seconds = now - self._slow_since
            if self._slow_turns > _TURNS_PER_SECOND * seconds:
                problem = f"time hardly passes: something runs again and again, {self._slow_turns:,} times in "
                return EndlessWork(f"{problem}{seconds:.3g} s", [])
            # Start another measurement, or a quiet beginning would hide a later spin.
            self._slow_since, self._slow_turns = now, 0
        return None

    def _hottest(self, **limits: int) -> HotKey | None:
        recent = {
            f"{name} of {replica.name}": reconciles
            for replica in self._replicas()
            for name, reconciles in replica.recent_reconciles().items()
        }
        return find_hot_key(recent, self._began, **limits)

    def _cached_objects(self) -> int:
        return sum(len(informer.indexer) for replica in self._replicas() for _, informer in replica.caches())

    def _reconciles(self) -> int:
        return sum(replica.reconciles() for replica in self._replicas())
