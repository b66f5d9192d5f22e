"""Several processes in one simulated time: each has an event loop of its own, whose clock runs at its own rate.

A process can be paused, as by SIGSTOP: its clock runs on and its loop does not. And it can be killed.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from asyncio import events
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_RESOLUTION = 1e-6


class _NoSockets:
    def select(self, timeout: float | None) -> list[object]:
        del timeout
        return []


class ProcessLoop(asyncio.BaseEventLoop):
    """An event loop without sockets, which runs when the simulation says so."""

    def __init__(self, world: World, rate: float, offset: float) -> None:
        super().__init__()
        self._selector: Any = _NoSockets()
        self._clock_resolution = _RESOLUTION
        self._world = world
        self.rate = rate
        self._offset = offset
        self.set_exception_handler(lambda _, context: world.errors.append(context))

    def time(self) -> float:
        return self._offset + self.rate * self._world.now

    def _process_events(self, event_list: list[object]) -> None:
        assert not event_list

    def _write_to_self(self) -> None:
        pass

    @property
    def next_timer(self) -> float:
        """When its next timer expires, in the time of the simulation."""
        timers: list[Any] = self._scheduled  # type: ignore[attr-defined]
        while timers and timers[0]._cancelled:
            heapq.heappop(timers)._scheduled = False
            self._timer_cancelled_count -= 1  # type: ignore[attr-defined]
        return (timers[0]._when - self._offset) / self.rate if timers else math.inf

    @property
    def is_ready(self) -> bool:
        """Whether a callback is due."""
        return bool(self._ready) or self.next_timer <= self._world.now + _RESOLUTION / 2  # type: ignore[attr-defined]

    def run_ready(self) -> None:
        """Run what is due."""
        events._set_running_loop(self)
        try:
            while self.is_ready:
                self._run_once()  # type: ignore[attr-defined]
        finally:
            events._set_running_loop(None)


class Process:
    """A process of the simulation.

    Attributes:
        loop: Its event loop.
        is_paused: Whether it does not run at the moment.
        is_alive: Whether it was not killed.
        pauses: When it was paused, and when it was resumed.
    """

    def __init__(self, world: World, rate: float, offset: float) -> None:
        self.loop = ProcessLoop(world, rate, offset)
        self.is_paused = False
        self.is_alive = True
        self.pauses: list[list[float]] = []
        self._world = world

    def spawn(self, coroutine: Coroutine[object, None, object]) -> asyncio.Task[object]:
        return self.loop.create_task(coroutine)

    def pause(self) -> None:
        if not self.is_paused:
            self.is_paused = True
            self.pauses.append([self._world.now, math.inf])

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self.pauses[-1][1] = self._world.now

    def was_paused(self, begin: float, end: float) -> bool:
        """Whether it was paused at some time of an interval."""
        return any(start <= end and begin <= stop for start, stop in self.pauses)

    def end(self) -> None:
        """Let it end after the scenario, so that nothing of it is left."""
        for _ in range(100_000):
            tasks = asyncio.all_tasks(self.loop)
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            self.loop.run_ready()
            if asyncio.all_tasks(self.loop) and math.isfinite(self.loop.next_timer):
                self._world.now = max(self._world.now, self.loop.next_timer)
        self.loop.close()


class World:
    """The simulated time, and what happens in it.

    Attributes:
        now: The time, in seconds.
        is_over: Whether the scenario has ended, so that nothing counts any more.
        errors: What event loops reported as unhandled.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.is_over = False
        self.errors: list[dict[str, Any]] = []
        self.processes: list[Process] = []
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = itertools.count()

    def start(self, rate: float, offset: float) -> Process:
        process = Process(self, rate, offset)
        self.processes.append(process)
        return process

    def at(self, time: float, call: Callable[[], object]) -> None:
        """Have a function called at a time."""
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), call))

    def run_until(self, end: float, is_done: Callable[[], bool] = lambda: False) -> None:
        """Let time pass."""
        while not is_done():
            running = [each for each in self.processes if each.is_alive and not each.is_paused]
            for process in running:
                if process.loop.is_ready:
                    process.loop.run_ready()
            following = min((each.loop.next_timer for each in running), default=math.inf)
            if self._events:
                following = min(following, self._events[0][0])
            if following > end:
                self.now = end
                return
            self.now = max(self.now, following)
            while self._events and self._events[0][0] <= self.now:
                heapq.heappop(self._events)[2]()

    def end(self) -> None:
        """End all processes, also killed and paused ones."""
        self.is_over = True
        for process in self.processes:
            process.end()
