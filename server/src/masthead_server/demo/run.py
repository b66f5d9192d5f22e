"""One run of the demo: plays the chapters, watches the watchers, and compares in the end."""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import masthead
from masthead_server.demo.cluster import SILENCED, create_apps
from masthead_server.demo.comparison import compare_versions
from masthead_server.demo.controllers import ReconcileCounter, find_wrong_budgets, manager_for
from masthead_server.demo.ending import Ending
from masthead_server.demo.lag import LagMeter
from masthead_server.demo.mirror import ClusterMirror, versions_of
from masthead_server.demo.observation import list_all
from masthead_server.demo.scene import Counters, FaultState, Scene, app_row, counted, node_row
from masthead_server.demo.story import APPS, EXPLANATIONS, Action, Injection, cues
from masthead_server.demo.tally import FaultTally, WatchState
from masthead_server.demo.tasks import Crash, Heartbeat, start_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead.cache import InformerHealth
    from masthead.controller import ManagerRuntime
    from masthead_server.demo.cluster import DemoCluster
    from masthead_server.demo.comparison import Agreement
    from masthead_server.demo.event_log import EventLog
    from masthead_server.demo.interrupts import Interrupts
    from masthead_server.demo.observation import Listing
    from masthead_server.demo.story import Chapter
    from masthead_server.demo.tasks import RunningTask

__all__ = ["DemoRun"]

_TICK: Final = 0.125
_TICKS_PER_CHECK: Final = 2
_PATIENCE: Final = 60.0
"""Seconds to wait for what should happen within a few."""
_PAUSE: Final = threading.Event()
"""Never set: used to sleep."""


class DemoRun:
    """One run.

    Args:
        cluster: The cluster.
        client: A client with a direct connection.
        chapters: The story.
        log: Prints lines.
        interrupts: Whether the user wants it to end.
        draw: Draws a moment.
    """

    def __init__(
        self,
        cluster: DemoCluster,
        client: masthead.Client,
        chapters: Sequence[Chapter],
        log: EventLog,
        interrupts: Interrupts,
        *,
        draw: Callable[[Scene], None],
    ) -> None:
        self._cluster = cluster
        self._client = client
        self._chapters = chapters
        self._log = log
        self._interrupts = interrupts
        self._draw = draw
        self._lag = LagMeter()
        self._reconciles = ReconcileCounter()
        self._heartbeat = Heartbeat(client)
        self._tally = FaultTally()
        self._played: list[Chapter] = []
        self._task: RunningTask | None = None
        self._current: Chapter | None = None
        self._progress = ""
        self._was_injected = False
        self._checks = self._equal_checks = 0
        self._ticks = itertools.count()
        self._agreement: Agreement | None = None

    def play(self, seconds: float) -> Ending:
        """Play all chapters within some seconds, wait until everything has caught up, and compare."""
        create_apps(self._client)
        config = self._cluster.config
        with (
            masthead.Client(config) as client,
            ClusterMirror(client, self._lag) as mirror,
            # Without ports, so that a second demo or an operator can run on the same machine.
            manager_for(self._reconciles).running_in_thread(config, metrics_bind="0", probe_bind="0") as runtime,
        ):
            watched = WatchedParts(mirror, runtime)
            self._settle(watched)
            self._log(f"{_describe(watched)}; cache and cluster agree")
            for chapter in self._chapters:
                if not self._interrupts.is_interrupted:
                    self._play_chapter(chapter, seconds / len(self._chapters), watched)
            self._current = None
            self._log("the end: no more faults; everything catches up")
            is_settled = self._settle(watched)
            return self._compare(watched, is_settled=is_settled)

    def _play_chapter(self, chapter: Chapter, seconds: float, watched: WatchedParts) -> None:
        self._log(f"chapter {chapter.number} of {len(self._chapters)}: {chapter.title}")
        self._played.append(chapter)
        self._current, self._progress, self._was_injected = chapter, "", False
        began = time.monotonic()
        due = deque(cues(chapter, seconds))
        while (elapsed := time.monotonic() - began) < seconds and not self._interrupts.is_interrupted:
            while due and due[0].after <= elapsed:
                self._act(due.popleft().action, chapter, watched)
            self._tick(watched)
        # On a machine that is too busy for the length of a chapter, nothing is left out.
        while due and not self._interrupts.is_interrupted:
            self._act(due.popleft().action, chapter, watched)
        if self._task is not None:
            # A node that stays cordoned would have no pods in the next chapters.
            self._task.end()
            self._task = None
        self._log(f"  {self._progress}" if self._progress else "  interrupted")
        for line in self._describe_counters(watched):
            self._log(f"  {line}")

    def _act(self, action: Action, chapter: Chapter, watched: WatchedParts) -> None:
        if action is Action.BEGIN:
            self._task = start_task(chapter, self._cluster, self._client)
        elif action is Action.INJECT:
            self._log(f"  fault: {EXPLANATIONS[chapter.fault]}")
            hit = watched.states(only_silenced=chapter.fault is Injection.SILENCE)
            # Before the fault: reconnects after this moment are its effect.
            self._tally.inject(chapter.fault, time.monotonic(), hit)
            self._was_injected = True
            self._cluster.inject(chapter.fault, self._heartbeat.touch)
        elif isinstance(self._task, Crash):
            self._task.repeat()

    def _tick(self, watched: WatchedParts) -> None:
        if next(self._ticks) % _TICKS_PER_CHECK == 0:
            self._check(watched)
        self._draw(self._scene(watched))
        _PAUSE.wait(_TICK)

    def _check(self, watched: WatchedParts) -> Listing:
        """Compare the caches with the cluster, count survived faults, and send a heartbeat."""
        listing = list_all(self._client)
        agreement = compare_versions(watched.mirror.versions(), versions_of(listing.by_resource()))
        self._agreement = agreement
        self._checks += 1
        self._equal_checks += agreement.is_equal
        now = time.monotonic()
        for kind, took in self._tally.observe(now, watched.states(), is_equal=agreement.is_equal):
            self._log(f"  survived: {kind.value}, after {took:.1f} s")
        if self._task is not None:
            self._progress = self._task.step(listing)
        # After the comparison, so that it arrives before the next one.
        began = time.monotonic()
        if (version := self._heartbeat.beat(listing)) is not None:
            self._lag.sent(version, began)
        return listing

    def _settle(self, watched: WatchedParts) -> bool:
        """Wait until every fault is survived and nothing changes any more; tell whether that is so."""
        # Heartbeats go on: a watch proves that it delivers by delivering.
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self._is_settled(self._check(watched), watched):
                return True
            for _ in range(_TICKS_PER_CHECK):
                self._draw(self._scene(watched))
                _PAUSE.wait(_TICK)
        return False

    def _is_settled(self, listing: Listing, watched: WatchedParts) -> bool:
        return (
            # After Ctrl-C, users do not wait for a container in its back-off.
            (listing.is_settled or self._interrupts.is_interrupted)
            and not self._tally.pending
            and watched.is_idle
            and not any(find_wrong_budgets(listing.deployments, listing.budgets))
            and self._agreement is not None
            and self._agreement.is_equal
        )

    def _compare(self, watched: WatchedParts, *, is_settled: bool) -> Ending:
        """Compare caches, handlers and the controller's rule with the cluster, field by field."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            listing = list_all(self._client)
            problems = watched.mirror.compare(listing)
            # Statuses may change until the very end; a difference that stays is one.
            if not problems or time.monotonic() > deadline:
                break
            _PAUSE.wait(_TICK)
        problems += find_wrong_budgets(listing.deployments, listing.budgets)
        problems += [f"a fault was not survived: {kind.value}" for kind in self._tally.pending]
        if not is_settled:
            problems.append(f"the cluster has not come to rest within {_PATIENCE:g} seconds")
        objects = len(watched.mirror.versions())
        return Ending(self._played, self._tally.rows(), self._counters(watched), objects, problems)

    def _scene(self, watched: WatchedParts) -> Scene:
        mirror = watched.mirror
        pods = mirror.pods.cached()
        nodes = sorted(mirror.nodes.cached().items())
        return Scene(
            seconds=self._log.seconds,
            chapters=self._chapters,
            current=self._current,
            finished=len(self._played) - (self._current is not None),
            progress=self._progress,
            fault_state=self._fault_state(),
            faults=self._tally.rows(),
            apps=[app_row(app, pods.values()) for app in APPS],
            nodes=[node_row(node, mirror.pods_on(name)) for name, node in nodes],
            counters=self._counters(watched),
            agreement=self._agreement,
            pods=pods,
        )

    def _fault_state(self) -> FaultState:
        if self._tally.pending:
            return FaultState.PENDING
        return FaultState.SURVIVED if self._was_injected else FaultState.COMING

    def _counters(self, watched: WatchedParts) -> Counters:
        lag = self._lag.current(time.monotonic())
        return replace(
            watched.counters(),
            reconciles=self._reconciles.count,
            lag=lag,
            worst_lag=self._lag.worst,
            checks=self._checks,
            equal_checks=self._equal_checks,
        )

    def _describe_counters(self, watched: WatchedParts) -> list[str]:
        counters = self._counters(watched)
        numbers = [
            counted(counters.events, "event"),
            counted(counters.reconnects, "reconnect"),
            counted(counters.relists, "relist"),
            counted(counters.reconciles, "reconcile"),
        ]
        is_equal = self._agreement is not None and self._agreement.is_equal
        state = "cache = cluster" if is_equal else "the cache is catching up"
        return [", ".join(numbers), f"lag {1000 * counters.worst_lag:.0f} ms at worst; {state}"]


class WatchedParts:
    """The informers of the demo: those of the mirror, and those of the controller.

    Attributes:
        mirror: The mirror.
    """

    def __init__(self, mirror: ClusterMirror, runtime: ManagerRuntime) -> None:
        self.mirror = mirror
        self._runtime = runtime

    @property
    def is_idle(self) -> bool:
        """Whether the controller has nothing to do."""
        return self._runtime.is_idle

    def states(self, *, only_silenced: bool = False) -> Mapping[str, WatchState]:
        """The state of every watch, or only of the silent one."""
        if only_silenced:
            return {SILENCED: _state(self.mirror.health[SILENCED])}
        return {name: _state(health) for name, health in self._health().items()}

    def counters(self) -> Counters:
        """The numbers of the informers."""
        healths = self._health().values()
        return Counters(
            events=self.mirror.events,
            reconnects=sum(health.reconnects for health in healths),
            relists=sum(health.relists for health in healths),
        )

    def _health(self) -> Mapping[str, InformerHealth]:
        # The controller has informers of its own, some for the same resources.
        own = {f"controller {name}": health for name, health in self._runtime.factory.health.items()}
        return {**self.mirror.health, **own}


def _state(health: InformerHealth) -> WatchState:
    return WatchState(health.reconnects + health.relists, is_open=health.is_connected and health.is_healthy)


def _describe(watched: WatchedParts) -> str:
    mirror = watched.mirror
    return (
        f"an API server with {counted(len(mirror.nodes.cached()), 'node')}, "
        f"{counted(len(mirror.deployments.cached()), 'app')} and {counted(len(mirror.pods.cached()), 'pod')}"
    )
