"""Random mixtures of faults, through the whole stack: in the end, cache and handlers equal the server.

``MASTHEAD_SOAK_SCENARIOS`` sets how many run, ``MASTHEAD_SOAK_SEED`` runs a single one.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

import pytest
from tests.scenarios.runner import describe_failure, run_scenario
from tests.scenarios.scenario import Scenario, scenario_of, shrunk

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIOS: Final = int(os.environ.get("MASTHEAD_SOAK_SCENARIOS", "1000"))
ONLY: Final = os.environ.get("MASTHEAD_SOAK_SEED")
AT_ONCE: Final = 25
FIRSTS: Final = range(0, SCENARIOS, AT_ONCE) if ONLY is None else [int(ONLY)]


@pytest.fixture(autouse=True)
def in_silence() -> Iterator[None]:
    """Disable logging: lines about intended faults are useless and slow."""
    logger = logging.getLogger("masthead")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(before)


@pytest.mark.guarantee(6)
@pytest.mark.parametrize("first", FIRSTS)
def test_cache_and_handlers_converge_on_the_state_of_the_server_after_any_faults(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, SCENARIOS)) if ONLY is None else [first]:
        if report := describe_failure(scenario_of(seed)):
            pytest.fail(report, pytrace=False)


def test_a_seed_is_always_the_same_scenario() -> None:
    assert scenario_of(7) == scenario_of(7)
    assert str(scenario_of(7)) == str(scenario_of(7))


def test_the_repr_of_a_scenario_recreates_it() -> None:
    from tests.scenarios import scenario

    names = {name: value for name, value in vars(scenario).items() if isinstance(value, type)}
    for seed in range(20):
        assert eval(str(scenario_of(seed)), names) == scenario_of(seed)


def test_a_failing_scenario_is_minimised() -> None:
    def has_restart(candidate: Scenario) -> bool:
        return any(type(step).__name__ == "Restart" for step in candidate.steps)

    seed = next(each for each in range(100) if has_restart(scenario_of(each)))
    smallest = shrunk(scenario_of(seed), has_restart)
    assert (len(smallest.steps), len(smallest.before), len(smallest.informers)) == (1, 0, 1)


def test_a_scenario_without_faults_passes() -> None:
    assert run_scenario(Scenario(seed=1, informers=scenario_of(3).informers)) == []
