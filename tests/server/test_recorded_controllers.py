"""Recorded scenarios for controllers: those of the embedded server do what kube-controller-manager did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from tests.controllers.catalog import AREAS
from tests.controllers.comparison import differing_steps, play_embedded
from tests.controllers.recording import read

from masthead_server.controllers.manager import CONTROLLERS

if TYPE_CHECKING:
    from tests.controllers.comparison import Outcome
    from tests.controllers.scenario import Scenario

NOW = datetime(2026, 5, 6, 12, 30, 7, tzinfo=UTC)
"""Not a whole minute, or times of the server would look like those of the scenario."""
SERVED = [area for area in sorted(AREAS) if CONTROLLERS.keys() >= set(AREAS[area].embedded)]
RECORDED = [(area, number, item) for area in SERVED for number, item in enumerate(read(area))]


def test_there_are_enough_recorded_scenarios() -> None:
    assert len(RECORDED) >= 10


@pytest.mark.parametrize("area", sorted({area for area, _, _ in RECORDED}))
def test_recorded_scenarios_have_events(area: str) -> None:
    # Scenarios in which the controller never acts would agree with anything.
    assert any(outcome.state["events"] for other, _, (_, outcomes) in RECORDED for outcome in outcomes if other == area)


@pytest.mark.parametrize(
    "recorded", [item for _, _, item in RECORDED], ids=[f"{area}-{number}" for area, number, _ in RECORDED]
)
def test_a_recorded_scenario_ends_alike(recorded: tuple[Scenario, list[Outcome]]) -> None:
    scenario, expected = recorded
    found = differing_steps(expected, play_embedded(scenario, "scenario-0-ns", NOW))
    assert not found, f"{scenario}\n" + "\n".join(found)
