"""Random scenarios for controllers: those of the embedded server do what kube-controller-manager does.

After each step of a scenario the specs, status, conditions, owner references, labels and finalizers of all objects, and
the events, are the same. What needs hours, such as the schedule of a CronJob, is set in its status.

``MASTHEAD_RANDOM_CONTROLLERS`` is the number of scenarios of each controller, none by default,
``MASTHEAD_RANDOM_SEED`` what they are made from, and ``MASTHEAD_RANDOM_ONLY`` numbers of single scenarios, separated by
commas.
"""

from __future__ import annotations

import itertools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.conformance.target import real_target
from tests.controllers.catalog import AREAS, compose
from tests.controllers.comparison import RealObjects, compare
from tests.controllers.controller_manager import PROGRAM, controller_manager

from masthead_server.controllers.manager import CONTROLLERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conformance.target import Target
    from tests.controllers.scenario import Scenario
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real"), pytest.mark.timeout(3600)]

SCENARIOS = int(os.environ.get("MASTHEAD_RANDOM_CONTROLLERS", "0"))
SEED = os.environ.get("MASTHEAD_RANDOM_SEED", "1")
ONLY = os.environ.get("MASTHEAD_RANDOM_ONLY", "")
WORKERS = int(os.environ.get("MASTHEAD_RANDOM_WORKERS", "24"))
MOST_REPORTS = int(os.environ.get("MASTHEAD_RANDOM_REPORTS", "1"))
"""Scenarios that are made short; that takes a while."""
ATTEMPTS = 3
"""A difference counts if it is there each time: pods of one second have no order on a real server."""
_NAMESPACES = itertools.count()


class Comparer:
    """Compares scenarios on the real and the embedded server, each in a namespace of its own."""

    def __init__(self, real: Target, objects: RealObjects) -> None:
        self._real = real
        self._objects = objects

    def differences(self, scenario: Scenario, attempts: int = ATTEMPTS) -> list[str]:
        """Play a scenario; returns how the servers differ every time."""
        found: list[str] = []
        for _ in range(attempts):
            found = compare(scenario, f"scenario-{SEED}-{next(_NAMESPACES)}-ns", self._real, self._objects)
            if not found:
                break
        return found

    def shortest(self, scenario: Scenario) -> Scenario:
        """Leave out actions, as long as the servers still differ."""
        for index in reversed(range(len(scenario.actions))):
            smaller = replace(scenario, actions=[*scenario.actions[:index], *scenario.actions[index + 1 :]])
            if smaller.actions and self.differences(smaller, 1):
                scenario = smaller
        return scenario


@pytest.fixture
def comparer(area: str, real_server: RealServer, tmp_path: Path) -> Iterator[Comparer]:
    # Real controllers take their own time, and some differences are known: only on request.
    if not SCENARIOS and not ONLY:
        pytest.skip("MASTHEAD_RANDOM_CONTROLLERS says how many scenarios to compare")
    if not PROGRAM.is_file():
        pytest.skip(f"there is no {PROGRAM}")
    if missing := set(AREAS[area].embedded) - CONTROLLERS.keys():
        pytest.skip(f"there is no controller {', '.join(sorted(missing))}")
    target = real_target(real_server)
    controllers = ("garbage-collector-controller", *AREAS[area].real)
    with (
        controller_manager(
            real_server.url, real_server.token, real_server.ca_file, tmp_path, controllers, AREAS[area].options
        ),
        RealObjects(target, AREAS[area]).polled() as objects,
    ):
        yield Comparer(target, objects)


@pytest.mark.parametrize("area", sorted(AREAS))
def test_random_scenarios_end_alike(area: str, comparer: Comparer) -> None:
    numbers = [int(number) for number in ONLY.split(",")] if ONLY else list(range(SCENARIOS))
    failed: dict[int, list[str]] = {}
    lock = threading.Lock()

    def run(number: int) -> None:
        scenario = compose(area, f"{SEED}-{number}")
        if found := comparer.differences(scenario):
            with lock:
                failed[number] = found
                print(f"{area} {number}:\n{scenario}")
                print("\n".join(f"    {line[:700]}" for line in found), flush=True)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(run, numbers))
    reports: list[str] = []
    for number in sorted(failed)[:MOST_REPORTS]:
        shortest = comparer.shortest(compose(area, f"{SEED}-{number}"))
        reports.append(f"{area}, seed {SEED}, scenario {number}:\n{shortest}")
        reports += [f"  {line}" for line in comparer.differences(shortest, 1)]
    print(f"{area}: {len(numbers) - len(failed)} of {len(numbers)} scenarios are alike")
    assert not failed, f"{len(failed)} of {len(numbers)} scenarios differ: {sorted(failed)}\n" + "\n".join(reports)
