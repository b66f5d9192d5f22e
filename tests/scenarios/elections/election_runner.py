"""Runs a scenario: the real electors, on event loops with clocks of their own, over a simulated network."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tests.scenarios.elections.lease_server import Ambush, LeaseServer, SimulatedTransport, Weather, connect
from tests.scenarios.elections.processes import World
from tests.scenarios.elections.work_journal import WorkJournal

from masthead.aio import LeaderElector

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.scenarios.elections.election_scenario import Action, Scenario
    from tests.scenarios.elections.processes import Process

    from masthead.aio.leaderelection import Leadership


class Replica:
    """One replica, through all its restarts.

    Attributes:
        number: Its number.
        process: The current process; None while there is none.
    """

    def __init__(self, runner: ElectionRunner, number: int) -> None:
        self.number = number
        self.process: Process | None = None
        self.wall_offset = 0.0
        self._runner = runner
        self._starts = 0
        self._task: asyncio.Task[object] | None = None

    def start(self) -> None:
        runner, scenario = self._runner, self._runner.scenario
        if self.process is not None:
            return
        self._starts += 1
        process = self.process = runner.world.start(scenario.rates[self.number], runner.random.uniform(0.0, 1e6))
        transport = SimulatedTransport(runner.world, runner.server, process, self.number, runner.random)
        client = connect(transport)
        keeps = scenario.has_one_identity or runner.random.random() < 0.5
        identity = "same" if scenario.has_one_identity else f"{self.number}-{0 if keeps else self._starts}"
        elector = LeaderElector(
            client,
            "operator",
            "default",
            identity=identity,
            lease_duration=scenario.lease,
            renew_deadline=scenario.renew,
            retry_period=scenario.retry,
            clock=self._wall_time,
        )
        title = f"replica {self.number}.{self._starts}"

        async def work(leadership: Leadership) -> None:
            journal = runner.journal
            token = leadership.token
            epoch = runner.server.epochs[token.lease_uid]
            run = journal.start(title, process, token, epoch, scenario.stop_seconds)
            try:
                while True:
                    if scenario.is_guarded:
                        leadership.check()
                    journal.act(run)
                    await asyncio.sleep(scenario.retry / 3)
            finally:
                try:
                    await asyncio.sleep(scenario.stop_seconds)
                finally:
                    journal.end(run)

        self._task = process.spawn(_until_cancelled(elector, work))

    def crash(self) -> None:
        if self.process is not None:
            self.process.is_alive = False
            self._runner.journal.kill(self.process)
            self.process = None

    def stop(self) -> None:
        """Ask it to end; it does when its work has."""
        if self._task is not None:
            self._task.cancel()

    def restart_if_ended(self) -> None:
        if self.process is None or (self._task is not None and self._task.done()):
            self.process = None
            self.start()

    def _wall_time(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._runner.world.now + self.wall_offset)


async def _until_cancelled(elector: LeaderElector, work: Callable[[Leadership], Awaitable[None]]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await elector.run(work)


class ElectionRunner:
    """Runs one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.random = random.Random(scenario.seed)
        self.world = World()
        self.journal = WorkJournal(self.world, is_guarded=scenario.is_guarded)
        self._active: list[Action] = []
        self._is_calm = False
        self.server = LeaseServer(self.world, self._weather(), self.random)
        self.replicas = [Replica(self, number) for number in range(len(scenario.rates))]
        self.counts: Counter[str] = Counter()

    def run(self) -> list[str]:
        """Run it; returns what went wrong."""
        random.seed(self.scenario.seed)  # the electors' jitter
        try:
            for replica in self.replicas:
                self.world.at(self.random.uniform(0.0, self.scenario.retry), replica.start)
            for action in self.scenario.actions:
                self.world.at(action.at, functools.partial(self._begin, action))
            self.world.run_until(self.scenario.length)
            self._end_faults()
            problems = self._problems_with_recovery() + self.journal.problems()
            problems += [f"unhandled: {error}" for error in self.world.errors]
        finally:
            self.world.end()
        self.counts["runs"] = len(self.journal.runs)
        return problems

    def _problems_with_recovery(self) -> list[str]:
        """After all faults, one replica works, and goes on doing so."""
        scenario = self.scenario
        self.world.run_until(self.world.now + 2.5 * scenario.lease)  # until no old message is on its way
        longest = 8 * scenario.lease + 60
        self.world.run_until(self.world.now + longest, is_done=self._has_one_running)
        if not self._has_one_running():
            return [f"{len(self.journal.running)} work {longest:.0f} s after the last fault"]
        before = self.journal.running
        self.world.run_until(self.world.now + scenario.lease)
        return [] if self.journal.running == before else ["the leader changed without a fault"]

    def _has_one_running(self) -> bool:
        running = self.journal.running
        return len(running) == 1 and self.world.now - running[0].started > self.scenario.lease

    def _begin(self, action: Action) -> None:
        replica = self.replicas[action.replica]
        end = self.world.now + action.lasts
        match action.kind:
            case "pause":
                if replica.process is not None:
                    replica.process.pause()
                    self.world.at(end, replica.process.resume)
            case "crash":
                replica.crash()
                self.world.at(end, replica.restart_if_ended)
            case "stop":
                replica.stop()
                self.world.at(end, replica.restart_if_ended)
            case "delete":
                self.server.delete()
            case "annotate":
                self.server.annotate()
            case "ambush":
                self.server.ambush = self._ambush(action)
                self.world.at(end, self._end_ambush)
            case "jump":
                replica.wall_offset += (action.value - 0.5) * 1e5
            case _:
                self._active.append(action)
                self._change_weather()
                self.world.at(end, lambda: self._end(action))

    def _ambush(self, action: Action) -> Ambush:
        """One in which the holder's response is slow, or the requests of the others are."""
        timeout = max(1.0, self.scenario.renew / 2) / max(self.scenario.rates)
        wait, lasts = timeout * 0.95 * action.value, max(action.lasts, 2 * self.scenario.lease)
        if action.replica % 2:
            return Ambush(wait, 0.0, self.world.now, lasts)
        return Ambush(0.0, wait, self.world.now + 0.8 * wait, lasts)

    def _end_ambush(self) -> None:
        self.server.ambush = None

    def _end(self, action: Action) -> None:
        if action in self._active:
            self._active.remove(action)
            self._change_weather()

    def _end_faults(self) -> None:
        self._active.clear()
        self.server.ambush = None
        self.server.ambushed.clear()
        self._is_calm = True
        self._change_weather()
        for replica in self.replicas:
            if replica.process is not None:
                replica.process.resume()
            replica.restart_if_ended()

    def _change_weather(self) -> None:
        self.server.weather = self._weather()

    def _weather(self) -> Weather:
        calm = self._is_calm
        weather = Weather(
            slow=0.0 if calm else self.scenario.slow,
            lost_requests=0.0 if calm else self.scenario.lost,
            lost_responses=0.0 if calm else self.scenario.lost,
            longest=1.2 * self.scenario.lease,
        )
        for action in self._active:
            match action.kind:
                case "partition":
                    if action.value < 0.7:
                        weather.cut_off.add(action.replica)
                    if action.value > 0.3:
                        weather.deaf.add(action.replica)
                case "outage":
                    weather.is_down = action.value < 0.4
                    weather.failing = 0 if action.value < 0.4 else (500, 503, 429)[int(action.value * 10) % 3]
                    weather.failing_after = action.value > 0.75
                case "slow":
                    weather.slow = action.value
                case "lossy":
                    weather.lost_requests = weather.lost_responses = action.value / 2
                    weather.broken_responses = action.value
                case other:
                    raise AssertionError(other)
        return weather
