"""Run the demo: ``python -m demo [--seconds 15] [--seed 1]``.

An API server starts in this process. Pods and deployments come, change and go, while connections break, requests are
refused, versions are forgotten, and the server is restarted. Informers mirror all of it. In the end, their caches and what
their handlers have heard are compared with the server, object by object.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import masthead
from demo.cluster import Cluster
from demo.mirror import Mirror, Mirrored
from demo.narrator import Narrator, write_line
from demo.story import Story
from demo.verdict import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T", bound=masthead.Object)

_WRITES_A_SECOND: Final = 5
_PATIENCE: Final = 60
"""Seconds to wait for what should come within a few."""
_LEGEND: Final = "= was there, + came, ~ changed, - is gone; x a request meets a fault, ! it failed and will be tried again"
_PAUSE: Final = threading.Event()
"""Never set: waiting for it is to let some time pass."""


def main() -> int:
    """Run it; returns 0 if the mirror is true, and 1 otherwise."""
    asked = _arguments()
    say = Narrator()
    with (
        tempfile.TemporaryDirectory() as folder,
        Cluster(Path(folder)) as cluster,
        masthead.Client(kubeconfig=cluster.server.kubeconfig()) as client,
    ):
        say.faults = cluster.news
        say(f"an API server listens on {cluster.server.url}, and will misbehave")
        say(_LEGEND)
        story = Story(client, asked.seed)
        story.begin()
        with Mirror(client, say) as mirror:
            say("the copy is complete; handlers are still being told")
            _play(story, cluster, asked.seconds, say)
            _settle(story, cluster, mirror, say)
            wrong = ["a watch that broke was not opened again"] if cluster.is_still_failing() else []
            wrong += _compared(mirror.pods, client.core_v1.pods("default").list())
            wrong += _compared(mirror.deployments, client.apps_v1.deployments("default").list())
            return _judge(wrong, mirror, cluster)


def _play(story: Story, cluster: Cluster, seconds: float, say: Callable[[str], None]) -> None:
    """Let things happen, with a restart of the server halfway."""
    steps = max(2, round(seconds * _WRITES_A_SECOND))
    for step in range(steps):
        if step == steps // 2:
            say("the server is restarted, at the same address and with its data")
            cluster.restart()
        story.go_on()
        _PAUSE.wait(1 / _WRITES_A_SECOND)


def _settle(story: Story, cluster: Cluster, mirror: Mirror, say: Callable[[str], None]) -> None:
    """Let nothing more go wrong, and wait until the mirror has the last that was written."""
    say("no more faults; the mirror catches up")
    cluster.behave()
    for _ in range(_PATIENCE * _WRITES_A_SECOND):
        if not cluster.is_still_failing():
            break
        story.go_on()
        _PAUSE.wait(1 / _WRITES_A_SECOND)
    mirror.pods.catch_up(story.add_pod())
    mirror.deployments.catch_up(story.add_deployment())
    say(f"pods by node, from the cache's index: {mirror.pods_by_node()}")


def _compared(mirrored: Mirrored[T], listed: Iterable[T]) -> list[str]:
    """What differs between the server and the mirror: its cache, and what its handler was told."""
    server, reporter = {obj.key: obj for obj in listed}, mirrored.reporter
    name = mirrored.informer.name
    return [
        *differences(f"the cache of {name}", mirrored.cached(), server),
        *differences(f"what the handler of {name} heard", reporter.heard, server),
    ]


def _judge(wrong: list[str], mirror: Mirror, cluster: Cluster) -> int:
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
    parser.add_argument("--seconds", type=float, default=15.0, help="how long things happen (default: 15)")
    parser.add_argument("--seed", type=int, default=1, help="which story is told (default: 1)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
