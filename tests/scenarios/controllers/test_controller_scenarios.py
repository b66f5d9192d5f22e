"""Random mixtures of faults, restarts and meddling users: in the end, the state is the desired one, and all is quiet.

``MASTHEAD_CONTROLLER_SCENARIOS`` sets how many run, ``MASTHEAD_SOAK_SEED`` runs a single one.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

import pytest
from tests.scenarios.controllers.runner import describe_failure, run_scenario
from tests.scenarios.controllers.scenario import (
    ControllerScenario,
    CrashReplica,
    Operator,
    PutPlot,
    scenario_of,
    shrunk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.scenarios.controllers.scenario import Style

SCENARIOS: Final = int(os.environ.get("MASTHEAD_CONTROLLER_SCENARIOS", "30"))
ONLY: Final = os.environ.get("MASTHEAD_SOAK_SEED")
AT_ONCE: Final = 5
FIRSTS: Final = range(0, SCENARIOS, AT_ONCE) if ONLY is None else [int(ONLY)]


@pytest.fixture(autouse=True)
def in_silence() -> Iterator[None]:
    """Disable logging: lines about intended faults are useless and slow."""
    logger = logging.getLogger("masthead")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(before)


@pytest.mark.parametrize("first", FIRSTS)
def test_the_desired_state_is_reached_after_any_faults(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, SCENARIOS)) if ONLY is None else [first]:
        if report := describe_failure(scenario_of(seed)):
            pytest.fail(report, pytrace=False)


def test_the_repr_of_a_scenario_recreates_it() -> None:
    from tests.scenarios.controllers import scenario

    names = {name: value for name, value in vars(scenario).items() if isinstance(value, type)}
    for seed in range(20):
        assert eval(str(scenario_of(seed)), names) == scenario_of(seed)


def test_a_failing_scenario_is_minimised() -> None:
    def has_crash(candidate: ControllerScenario) -> bool:
        return any(isinstance(step, CrashReplica) for step in candidate.steps)

    seed = next(each for each in range(100) if has_crash(scenario_of(each)))
    smallest = shrunk(scenario_of(seed), has_crash)
    assert (len(smallest.steps), len(smallest.before)) == (1, 0)


@pytest.mark.parametrize("ignores_own", [False, True])
@pytest.mark.parametrize("style", ["apply", "update", "generate"])
def test_a_scenario_without_faults_passes(style: Style, ignores_own: bool) -> None:
    steps = (PutPlot("default", "a", "red", 3), PutPlot("default", "a", "blue", 1))
    operator = Operator(style=style, ignores_own=ignores_own)
    assert run_scenario(ControllerScenario(1, operator, steps=steps)) == []


def test_a_change_of_a_copy_that_a_reconcile_has_deleted_meanwhile_needs_no_reconcile() -> None:
    """The watch breaks, and the list after it shows neither the change nor the copy."""
    assert describe_failure(scenario_of(500818)) == ""
