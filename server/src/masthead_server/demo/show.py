"""The whole demo: ``masthead demo [--seconds 20] [--seed 1] [--plain]``.

An API server starts in this process. Deployments roll, pods come, move and go, and a node fails, while connections
break, requests fail, resource versions expire, and the server is restarted. Informers mirror all of it, and controllers
keep three things true. In the end, caches, handlers and controllers are compared with the server, object by object.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import math
import os
import shutil
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import masthead
from masthead._arguments import ArgumentParser
from masthead._errors.base import counted
from masthead.config import from_kubeconfig
from masthead_server.demo.cluster import FailingCluster, create_nodes
from masthead_server.demo.comparison import differences
from masthead_server.demo.controllers import is_ready, manager_for, wanted_budget
from masthead_server.demo.event_log import EventLog, write_line
from masthead_server.demo.lag import LagMeter
from masthead_server.demo.life import ClusterLife
from masthead_server.demo.mirror import ClusterMirror, MirroredResource

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from typing import TextIO

    from masthead._controller.runtime import ManagerRuntime
    from masthead.api.core.v1 import Node
    from masthead_server.demo.view import LiveView

T = TypeVar("T", bound=masthead.Object)

_WRITES_A_SECOND: Final = 4
_FRAMES_PER_WRITE: Final = 2
_TIMEOUT: Final = 60
"""Seconds to wait for what should happen within a few."""
_MIN_COLUMNS: Final = 50
_MIN_LINES: Final = 12
"""Of a smaller terminal, a picture would not show much: lines do."""
_LEGEND: Final = (
    "= existed, + added, ~ updated, - deleted; x a fault was injected, ! a list or watch failed and is retried"
)
_PAUSE: Final = threading.Event()
"""Never set: used to sleep."""


def main(arguments: Sequence[str]) -> int:
    """Run the demo; returns 0 if everything is in sync in the end, and 1 otherwise."""
    chosen = _parse_arguments(arguments)
    is_terminal = is_drawable(sys.stdout, os.environ.get("TERM", ""), shutil.get_terminal_size())
    # Rich is optional; without it, the demo prints lines.
    can_draw = is_terminal and not chosen.plain and importlib.util.find_spec("rich") is not None
    log = EventLog(is_printed=not can_draw)
    with ExitStack() as stack:
        stack.enter_context(_logging_to(log))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(FailingCluster(folder))
        client = stack.enter_context(masthead.Client(kubeconfig=cluster.server.kubeconfig()))
        return Show(cluster, client, log, seed=chosen.seed, is_drawn=can_draw).run(chosen.seconds)


def is_drawable(output: TextIO, term: str, size: os.terminal_size) -> bool:
    """Whether the output is a terminal that can be drawn on, and large enough for it. Pure.

    Args:
        output: The output.
        term: The variable ``TERM``.
        size: Columns and lines.
    """
    is_large = size.columns >= _MIN_COLUMNS and size.lines >= _MIN_LINES
    return is_large and output.isatty() and term not in {"", "dumb", "unknown"}


class Show:
    """One run of the demo.

    Args:
        cluster: The cluster.
        client: A client of it.
        log: The history.
        seed: Decides the course of events.
        is_drawn: Whether it is drawn live, or printed as lines.
    """

    def __init__(
        self, cluster: FailingCluster, client: masthead.Client, log: EventLog, *, seed: int, is_drawn: bool
    ) -> None:
        self._cluster = cluster
        self._client = client
        self._log = log
        self._lag = LagMeter()
        self._life = ClusterLife(client, seed, self._lag, log)
        self._is_drawn = is_drawn
        self._view: LiveView | None = None
        log.faults = cluster.new_faults

    def run(self, seconds: float) -> int:
        """Run it; returns the exit status."""
        self._log(f"an API server listens on {self._cluster.server.url}, with injected faults")
        self._log(_LEGEND)
        create_nodes(self._client)
        self._life.begin()
        config = from_kubeconfig(self._cluster.server.kubeconfig())
        app = manager_for(self._cluster, self._log)
        with (
            ClusterMirror(self._client, self._log, self._lag) as mirror,
            # Without fixed ports, so that a second demo or an operator can run on the same machine.
            app.running_in_thread(config, metrics_bind="0", probe_bind="0") as runtime,
        ):
            with self._drawing(mirror):
                # An interrupted demo still ends with the comparison.
                with suppress(KeyboardInterrupt):
                    self._live(mirror, runtime, seconds)
                is_watching = self._catch_up(mirror, runtime)
            return self._report(mirror, is_watching=is_watching)

    def _drawing(self, mirror: ClusterMirror) -> ExitStack:
        stack = ExitStack()
        if self._is_drawn:
            from masthead_server.demo.view import LiveView

            self._view = stack.enter_context(LiveView(mirror, self._log, self._lag))
        return stack

    def _live(self, mirror: ClusterMirror, runtime: ManagerRuntime, seconds: float) -> None:
        """Let the cluster live, with a restart of the server halfway."""
        steps = max(4, round(seconds * _WRITES_A_SECOND))
        for step in range(steps):
            if step == steps // 2:
                self._log("the server is restarted, at the same address and with its data")
                self._cluster.restart()
            self._life.step()
            self._wait(mirror, runtime)

    def _catch_up(self, mirror: ClusterMirror, runtime: ManagerRuntime) -> bool:
        """Stop injecting faults, and wait until all have caught up with the last write.

        Returns:
            Whether all watches are open again.
        """
        self._log("no more faults; everything catches up")
        self._cluster.stop_faults()
        self._life.end()
        # An idle watch cannot prove that it delivers, so that every round makes a write.
        for _ in range(_TIMEOUT * _WRITES_A_SECOND):
            if _is_watching(mirror, runtime) and self._is_settled(runtime):
                break
            self._life.touch()
            self._wait(mirror, runtime)
        mirror.deployments.catch_up(self._life.touch())
        # The watches are independent: the deployments' progress proves nothing about the pods.
        for pod in self._client.core_v1.pods("default").list():
            mirror.pods.catch_up(pod)
        is_watching = self._wait_for_open_watches(mirror, runtime)
        if self._view is not None:
            self._draw(self._view, mirror, runtime)
        return is_watching

    def _wait_for_open_watches(self, mirror: ClusterMirror, runtime: ManagerRuntime) -> bool:
        """Wait until all watches are open: a stalled watch is detected only after a moment."""
        for _ in range(_TIMEOUT * _WRITES_A_SECOND):
            if _is_watching(mirror, runtime):
                return True
            self._wait(mirror, runtime)
        return False

    def _is_settled(self, runtime: ManagerRuntime) -> bool:
        """Whether the controllers have nothing left to do, and every pod runs."""
        pods = list(self._client.core_v1.pods("default").list())
        is_quiet = all(not pod.metadata.deletion_timestamp and pod.status.phase == "Running" for pod in pods)
        wanted = sum(deployment.spec.replicas or 0 for deployment in self._client.apps_v1.deployments("default").list())
        return is_quiet and len(pods) == wanted and runtime.is_idle

    def _wait(self, mirror: ClusterMirror, runtime: ManagerRuntime) -> None:
        # Checked here, because the handlers of events run in other threads, and cannot end the demo.
        if self._log.is_broken:
            raise BrokenPipeError
        for _ in range(_FRAMES_PER_WRITE):
            if self._view is not None:
                self._draw(self._view, mirror, runtime)
            _PAUSE.wait(1 / _WRITES_A_SECOND / _FRAMES_PER_WRITE)

    def _draw(self, view: LiveView, mirror: ClusterMirror, runtime: ManagerRuntime) -> None:
        from masthead_server.demo.view import Figures

        loops, is_watching = runtime.loops.values(), _is_watching(mirror, runtime)
        hit = len(self._cluster.faults_so_far())
        nodes: list[Node] = sorted(runtime.factory.core_v1.nodes.informer.indexer.list(), key=lambda node: node.key)
        figures = Figures(
            queue_depth=sum(len(loop.requests.queue.keys) for loop in loops),
            reconciles=sum(sum(loop.requests.metrics.counts.values()) for loop in loops),
            # The newest fault is not survived before all watches are open again.
            survived=hit if is_watching else max(0, hit - 1),
            is_failing=not is_watching,
        )
        view.update(nodes, figures)

    def _report(self, mirror: ClusterMirror, *, is_watching: bool) -> int:
        wrong = [] if is_watching else ["a watch that broke was not opened again"]
        wrong += _compare(mirror.pods, self._client.core_v1.pods("default").list())
        wrong += _compare(mirror.deployments, self._client.apps_v1.deployments("default").list())
        wrong += self._broken_promises()
        survived = self._cluster.faults_so_far()
        for fault in survived:
            write_line(f"survived: {fault}")
        for problem in wrong:
            write_line(f"differs: {problem}")
        verdict = "NOT in sync" if wrong else "in sync"
        write_line(
            f"{verdict}: {counted(mirror.objects, 'object')}, {counted(mirror.events, 'event')}, "
            f"{counted(len(survived), 'fault')} survived"
        )
        return 1 if wrong else 0

    def _broken_promises(self) -> list[str]:
        """The rules of the controllers that do not hold."""
        budgets = {
            budget.metadata.name: budget for budget in self._client.policy_v1.pod_disruption_budgets("default").list()
        }
        ready = {node.metadata.name for node in self._client.core_v1.nodes().list() if is_ready(node)}
        pods = self._client.core_v1.pods("default").list()
        broken = [f"pod {pod.metadata.name} has no ready node" for pod in pods if pod.spec.node_name not in ready]
        for deployment in self._client.apps_v1.deployments("default").list():
            found, wanted = budgets.get(deployment.metadata.name), wanted_budget(deployment)
            if found is None or found.spec.min_available != wanted.spec.min_available:
                broken.append(
                    f"deployment {deployment.metadata.name} has not the disruption budget that it should have"
                )
        return broken


def _is_watching(mirror: ClusterMirror, runtime: ManagerRuntime) -> bool:
    """Whether all watches are open: those of the mirror, and those of the controllers."""
    return mirror.is_healthy and all(health.is_healthy for health in runtime.factory.health.values())


class _LogHandler(logging.Handler):
    """Adds the log records of the package to the history."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line, unless it is about disruption budgets without effect: the demo shows that they are restored."""
        message = record.getMessage()
        if "poddisruptionbudgets.policy have no effect" not in message:
            self._log(f"! {message}")


@contextmanager
def _logging_to(log: EventLog) -> Generator[None]:
    logger, handler = logging.getLogger("masthead"), _LogHandler(log)
    logger.addHandler(handler)
    # The root logger would print over the picture.
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


def _compare(mirrored: MirroredResource[T], listed: Iterable[T]) -> list[str]:
    """What differs between the server and the mirror: its cache, and its handler's events."""
    server, reporter = {obj.key: obj for obj in listed}, mirrored.reporter
    name = mirrored.informer.name
    return [
        *differences(f"the cache of {name}", mirrored.cached(), server),
        *differences(f"the events of the handler of {name}", reporter.objects, server),
    ]


def _parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = ArgumentParser(prog="masthead demo", description="Informers and controllers at work, under faults.")
    parser.add_argument("--seconds", type=_duration, default=20.0, help="how long the cluster lives (default: 20)")
    parser.add_argument("--seed", type=int, default=1, help="decides what happens (default: 1)")
    parser.add_argument("--plain", action="store_true", help="print lines, also in a terminal")
    return parser.parse_args(arguments)


def _duration(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    # NaN fails both comparisons, and is refused as well.
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds
