"""What the work of all replicas did, and when: never two at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.scenarios.elections.processes import Process, World

    from masthead.aio.leaderelection import FencingToken


@dataclass(eq=False)
class Run:
    """One run of some replica's work.

    Attributes:
        title: Whose.
        process: Where.
        token: Its fencing token.
        epoch: How often a replica had created the Lease anew without knowing that there had been one, when this one was
            created. Its holder may learn of that later, and start after the holder of the next one.
        stop_seconds: How long it takes to end, by its own clock.
        started: When.
        ended: When; also by the death of its process.
        acts: When it did something.
    """

    title: str
    process: Process
    token: FencingToken
    epoch: int
    stop_seconds: float
    started: float
    ended: float = math.inf
    acts: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.title} with token {self.token}, {self.started:.3f} to {self.ended:.3f}"


class WorkJournal:
    """All runs of a scenario.

    Args:
        world: The simulated time.
        is_guarded: Whether the work checks its leadership before each act.
    """

    def __init__(self, world: World, *, is_guarded: bool) -> None:
        self.runs: list[Run] = []
        self._world = world
        self._is_guarded = is_guarded

    def start(self, title: str, process: Process, token: FencingToken, epoch: int, stop_seconds: float) -> Run:
        run = Run(title, process, token, epoch, stop_seconds, self._world.now)
        if not self._world.is_over:
            self.runs.append(run)
        return run

    def act(self, run: Run) -> None:
        if not self._world.is_over:
            run.acts.append(self._world.now)

    def end(self, run: Run) -> None:
        if not self._world.is_over and math.isinf(run.ended):
            run.ended = self._world.now

    def kill(self, process: Process) -> None:
        for run in self.runs:
            if run.process is process:
                self.end(run)

    @property
    def running(self) -> list[Run]:
        """The runs that have not ended."""
        return [run for run in self.runs if math.isinf(run.ended)]

    def problems(self) -> list[str]:
        """What must not be."""
        runs = sorted(self.runs, key=lambda run: run.started)
        found: list[str] = []
        for number, new in enumerate(runs):
            for old in runs[:number]:
                found += self._problems_of(old, new)
        return found

    def _problems_of(self, old: Run, new: Run) -> list[str]:
        if new.epoch != old.epoch:
            return []  # the Lease was deleted, and created by one that did not know
        found: list[str] = []
        if new.token.lease_uid == old.token.lease_uid and not old.token.is_older_than(new.token):
            found.append(f"the token does not grow: {old}; {new}")
        late = [time for time in old.acts if time >= new.started]
        if self._is_guarded and late:
            found.append(f"guarded work acted at {late[0]:.3f}: {old}; {new}")
        if old.ended > new.started and not _is_excused(old, new):
            found.append(f"two work at once: {old}; {new}")
        return found


def _is_excused(old: Run, new: Run) -> bool:
    """Whether the older work could not end, because its process was paused. It must end as soon as it runs again."""
    process = old.process
    if not any(start <= new.started and old.started < stop for start, stop in process.pauses):
        return False
    pauses = [(max(start, new.started), min(stop, old.ended)) for start, stop in process.pauses]
    paused = sum(stop - start for start, stop in pauses if stop > start)
    if math.isinf(paused):
        return True
    return old.ended - new.started - paused <= old.stop_seconds / process.loop.rate + 0.001
