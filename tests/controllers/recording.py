"""The recorded scenarios: the states on a real server beside kube-controller-manager, one scenario in a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.controllers.comparison import Outcome
from tests.controllers.scenario import Action, Scenario
from tests.sequences.deltas import delta, patched

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parent.parent / "data" / "controllers"
"""A file for each area."""

Recorded = tuple[Scenario, list[Outcome]]


def read(area: str) -> list[Recorded]:
    """Read the recorded scenarios of an area."""
    file = FOLDER / f"{area}.jsonl"
    return [_decoded(area, json.loads(line)) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def write(area: str, recorded: Iterable[Recorded]) -> None:
    """Write the recorded scenarios of an area."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(_encoded(*item), separators=(",", ":")) for item in recorded]
    (FOLDER / f"{area}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _encoded(scenario: Scenario, outcomes: list[Outcome]) -> list[Any]:
    """Actions and states, each state as what it differs in from the one before it."""
    rows: list[Any] = []
    before: Any = None
    for action, outcome in zip(scenario.actions, outcomes, strict=True):
        rows.append([action.encoded(), outcome.status, delta(before, outcome.state)])
        before = outcome.state
    return rows


def _decoded(area: str, rows: list[Any]) -> Recorded:
    scenario, outcomes = Scenario(area), list[Outcome]()
    state: Any = None
    for action, status, change in rows:
        state = patched(state, change)
        scenario.actions.append(Action(**action))
        outcomes.append(Outcome(status, state))
    return scenario, outcomes
