"""Random scenarios of leader election: never two that work at once, and always one in the end.

Clocks drift within what is tolerated, networks split, messages are slow or lost, processes pause, crash and restart,
the server fails. Work "runs" by what it does itself, whatever the electors believe. What is guaranteed:

* No two run at once, unless the process of one is paused: it cannot be cancelled. It ends as soon as it goes on.
* Work that checks its leadership before each step takes no step after another has started, paused or not.
* A fencing token is newer than all before it.
* After the faults one runs, and goes on.

`MASTHEAD_ELECTION_SCENARIOS=10000` runs more, `MASTHEAD_ELECTION_SEED=4711` others.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest
from tests.scenarios.elections.broken_rules import BROKEN_RULES
from tests.scenarios.elections.election_runner import ElectionRunner
from tests.scenarios.elections.election_scenario import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.scenarios.elections.election_scenario import Scenario

SEED = int(os.environ.get("MASTHEAD_ELECTION_SEED", "0"))
SCENARIOS = int(os.environ.get("MASTHEAD_ELECTION_SCENARIOS", "40"))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No logs: formatting them takes longer than what they are about."""
    log = logging.getLogger("masthead")
    level = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(level)


def smallest(scenario: Scenario) -> Scenario:
    """The scenario without what is not needed to fail."""
    number = len(scenario.actions) - 1
    while number >= 0:
        shorter = scenario.without(number)
        if ElectionRunner(shorter).run():
            scenario = shorter
        number -= 1
    return scenario


@pytest.mark.timeout(0)
def test_never_do_two_work_at_once() -> None:
    terms = 0
    for seed in range(SEED, SEED + SCENARIOS):
        runner = ElectionRunner(draw(seed))
        if problems := runner.run():
            minimal = smallest(draw(seed))
            pytest.fail(f"{minimal}\n" + "\n".join(ElectionRunner(minimal).run() or problems))
        terms += len(runner.journal.runs)

    assert terms > 2 * SCENARIOS


@pytest.mark.parametrize("rule", BROKEN_RULES, ids=lambda rule: rule.__name__)
def test_a_broken_rule_is_noticed(rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    rule(monkeypatch)

    seeds = (BROKEN_RULES[rule], *range(500))
    assert any(_is_unsafe(ElectionRunner(draw(seed)).run()) for seed in seeds)


def _is_unsafe(problems: list[str]) -> bool:
    return any(problem.startswith(("two work", "guarded work", "the token")) for problem in problems)


@pytest.mark.parametrize("seed", sorted(set(BROKEN_RULES.values())))
def test_without_it_nothing_is_wrong(seed: int) -> None:
    assert not ElectionRunner(draw(seed)).run()


@pytest.mark.parametrize("seed", [1006032, 1007721])
def test_a_lease_that_is_deleted_before_its_creation_was_acknowledged_is_excused(seed: int) -> None:
    """Its creator learns late that it holds a Lease, which another has created anew that had never seen it."""
    assert not ElectionRunner(draw(seed)).run()
