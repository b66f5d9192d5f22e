"""Random pods on random nodes: the embedded scheduler decides as kube-scheduler does.

Which pods get a node, the reasons of the others, events and preempted pods are the same; not which of several nodes.
``MASTHEAD_RANDOM_SCHEDULING`` is the number of scenarios, none by default, ``MASTHEAD_RANDOM_SEED`` what they are made
from, and ``MASTHEAD_RANDOM_ONLY`` numbers of single scenarios, separated by commas. A scenario that differs is played
again, and counts if it differs each time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.target import Target, real_target
from tests.controllers.controller_manager import SCHEDULER, scheduler
from tests.real.random_scheduling import SchedulingPlayer, compose

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real"), pytest.mark.timeout(3600)]

SCENARIOS = int(os.environ.get("MASTHEAD_RANDOM_SCHEDULING", "0"))
SEED = os.environ.get("MASTHEAD_RANDOM_SEED", "1")
ONLY = os.environ.get("MASTHEAD_RANDOM_ONLY", "")
ATTEMPTS = 3
"""A difference counts if it is there each time: a real scheduler may see an event later than the next pod."""
PRIORITIES: list[dict[str, Any]] = [
    {"metadata": {"name": "low"}, "value": 1},
    {"metadata": {"name": "middle"}, "value": 10},
    {"metadata": {"name": "polite"}, "value": 5, "preemptionPolicy": "Never"},
    {"metadata": {"name": "high"}, "value": 100},
]


@pytest.fixture
def targets(real_server: RealServer, tmp_path: Path) -> Iterator[tuple[Target, Target]]:
    """The real server with kube-scheduler, and an embedded one with its own."""
    if not SCENARIOS and not ONLY:
        pytest.skip("MASTHEAD_RANDOM_SCHEDULING says how many scenarios to compare")
    if not SCHEDULER.is_file():
        pytest.skip(f"there is no {SCHEDULER}")
    with (
        scheduler(real_server.url, real_server.token, real_server.ca_file, tmp_path),
        masthead.server.run(controllers=["scheduler"], token="secret") as server,
    ):
        both = real_target(real_server), Target(server.url, "secret", lambda: None)
        for target in both:
            player = SchedulingPlayer(target, "default")
            for priority in PRIORITIES:
                player.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
            player.close()
        yield both


def find_differences(number: int, targets: tuple[Target, Target]) -> list[str]:
    """Play a scenario on both servers; returns the differences of the last attempt, none once an attempt is alike."""
    found: list[str] = []
    for attempt in range(ATTEMPTS):
        found = play(number, attempt, targets)
        if not found:
            break
    return found


def play(number: int, attempt: int, targets: tuple[Target, Target]) -> list[str]:
    """Play a scenario once, in a namespace of its own; returns the differences."""
    scenario = compose(f"{SEED}-{number}")
    decisions = []
    for target in targets:
        player = SchedulingPlayer(target, f"scheduling-{SEED}-{number}-{attempt}-ns")
        try:
            player.begin(scenario)
            try:
                decisions.append([player.decide(pod) for pod in scenario.pods])
            finally:
                player.end(scenario)
        finally:
            player.close()
    return [
        f"{number} {pod['metadata']['name']}:\n   real     {real}\n   embedded {embedded}"
        for pod, real, embedded in zip(scenario.pods, *decisions, strict=True)
        if real != embedded
    ]


def test_random_pods_are_scheduled_alike(targets: tuple[Target, Target]) -> None:
    numbers = [int(number) for number in ONLY.split(",")] if ONLY else list(range(SCENARIOS))
    failed: dict[int, list[str]] = {}
    for number in numbers:
        if found := find_differences(number, targets):
            failed[number] = found
            print("\n".join(found), flush=True)
    print(f"{len(numbers) - len(failed)} of {len(numbers)} scenarios are alike")
    assert not failed, f"{len(failed)} of {len(numbers)} scenarios differ: {sorted(failed)}"
