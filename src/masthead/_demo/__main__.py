"""Run the demo: ``python -m demo [--seconds 15] [--seed 1]``.

An API server starts in this process. Pods and deployments are created, changed and deleted, while connections break,
requests fail, resource versions expire, and the server is restarted. Informers mirror all of it. In the end, their caches
and the events of their handlers are compared with the server, object by object.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import masthead
from demo.cluster import FailingCluster
from demo.comparison import differences
from demo.event_log import EventLog, write_line
from demo.mirror import Mirror, MirroredResource
from demo.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T", bound=masthead.Object)

_WRITES_A_SECOND: Final = 5
_TIMEOUT: Final = 60
"""Seconds to wait for events that should arrive within a few."""
_LEGEND: Final = "= existed, + added, ~ updated, - deleted; x a fault was injected, ! a list or watch failed and is retried"
_PAUSE: Final = threading.Event()
"""Never set: used to sleep."""


def main() -> int:
    """Run the demo; returns 0 if the caches are in sync, and 1 otherwise."""
    arguments = _arguments()
    log = EventLog()
    with (
        tempfile.TemporaryDirectory() as folder,
        FailingCluster(Path(folder)) as cluster,
        masthead.Client(kubeconfig=cluster.server.kubeconfig()) as client,
    ):
        log.faults = cluster.new_faults
        log(f"an API server listens on {cluster.server.url}, with injected faults")
        log(_LEGEND)
        workload = Workload(client, arguments.seed)
        workload.create_initial()
        with Mirror(client, log) as mirror:
            log("the caches are synced; handlers are still processing their initial events")
            _run(workload, cluster, arguments.seconds, log)
            _catch_up(workload, cluster, mirror, log)
            wrong = ["a watch that broke was not opened again"] if cluster.is_still_failing() else []
            wrong += _compare(mirror.pods, client.core_v1.pods("default").list())
            wrong += _compare(mirror.deployments, client.apps_v1.deployments("default").list())
            return _report(wrong, mirror, cluster)


def _run(workload: Workload, cluster: FailingCluster, seconds: float, log: Callable[[str], None]) -> None:
    """Run the workload, with a restart of the server halfway."""
    steps = max(2, round(seconds * _WRITES_A_SECOND))
    for step in range(steps):
        if step == steps // 2:
            log("the server is restarted, at the same address and with its data")
            cluster.restart()
        workload.step()
        _PAUSE.wait(1 / _WRITES_A_SECOND)


def _catch_up(
    workload: Workload, cluster: FailingCluster, mirror: Mirror, log: Callable[[str], None]
) -> None:
    """Stop injecting faults, and wait until the caches have the last write."""
    log("no more faults; the caches catch up")
    cluster.stop_faults()
    for _ in range(_TIMEOUT * _WRITES_A_SECOND):
        if not cluster.is_still_failing():
            break
        workload.step()
        _PAUSE.wait(1 / _WRITES_A_SECOND)
    mirror.pods.catch_up(workload.add_pod())
    mirror.deployments.catch_up(workload.add_deployment())
    log(f"pods by node, from the cache's index: {mirror.pods_by_node()}")


def _compare(mirrored: MirroredResource[T], listed: Iterable[T]) -> list[str]:
    """What differs between the server and the mirror: its cache, and its handler's events."""
    server, reporter = {obj.key: obj for obj in listed}, mirrored.reporter
    name = mirrored.informer.name
    return [
        *differences(f"the cache of {name}", mirrored.cached(), server),
        *differences(f"the events of the handler of {name}", reporter.objects, server),
    ]


def _report(wrong: list[str], mirror: Mirror, cluster: FailingCluster) -> int:
    objects = len(mirror.pods.cached()) + len(mirror.deployments.cached())
    survived = cluster.survived()
    for each in survived:
        write_line(f"survived: {each}")
    for each in wrong:
        write_line(f"differs: {each}")
    verdict = "NOT in sync" if wrong else "in sync"
    write_line(f"{verdict}: {objects} objects, {mirror.events} events, {len(survived)} faults survived")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description="Informers at work, under faults.")
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="how long the workload runs (default: 15)"
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of the workload (default: 1)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
