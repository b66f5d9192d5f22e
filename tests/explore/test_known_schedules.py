"""The fault that triggers each bug: the oracles report it, and nothing about the repaired twin under the same fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from masthead.testing._explore.faults import Absence, Answer, Crash, EarlyStep, Restart
from masthead.testing._explore.oracles.judge import judge, judge_reference
from masthead.testing._explore.oracles.rules import OracleRules
from masthead.testing._explore.reference import ReferenceRuns
from masthead.testing._explore.run import run_schedule
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.target import Target
from masthead.testing._explore.workload import as_workload
from tests.explore.operators.catalog import OPERATORS, external_of, maker_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.trace import RunResult


def find_write(run: RunResult, text: str, step: int) -> int:
    """Return the number of a write, such as ``create secrets default/a``, of a step."""
    return next(write.number for write in run.writes if str(write).startswith(text) and write.step == step)


def find_user_change(run: RunResult, step: int) -> int:
    """Return the revision of the first change by the user in a step."""
    return next(change.revision for change in run.changes if change.client == "user" and change.step == step)


FAULTS: Mapping[str, Callable[[RunResult], PlannedFault]] = {
    "certificate_pair": lambda run: Crash(find_write(run, "create secrets", 1), "stored"),
    "early_phase": lambda _: Crash(4, "stored"),
    "config_rollout": lambda _: Crash(3, "stored"),
    "cloud_bucket": lambda _: Crash(0, "stored", call=1),
    "stale_deletion": lambda run: Restart(3, find_user_change(run, 2)),
    "stale_scale": lambda run: Restart(2, run.rests[0], ("rings.example.com",)),
    "stale_job": lambda run: Restart(1, find_user_change(run, 1)),
    "recreated_store": lambda _: Absence(2, 3),
    "departed_backends": lambda _: Absence(2, 2),
    "renamed_topic": lambda _: Absence(2, 3, "workers"),
    "shared_hosts": lambda run: EarlyStep(find_write(run, "update configmaps", 2)),
    "ignored_conflict": lambda run: Answer(find_write(run, "update deployments.apps", 2), "conflict"),
}
"""The fault of each operator, for the writes and revisions of a run without faults."""
TWIN_FAULTS: Mapping[str, Callable[[RunResult], PlannedFault]] = {
    **FAULTS,
    "shared_hosts": lambda run: EarlyStep(find_write(run, "apply configmaps", 2)),
}
"""The same fault for the repaired operators, which write in another way."""


def explore_fault(name: str, version: Literal["buggy", "fixed"]) -> list[Finding]:
    """Return the findings of the run with the fault of an operator."""
    operator = OPERATORS[name]
    workload, external = as_workload(operator.workload), external_of(operator)
    target = Target(maker_of(operator, version), workload, crds=operator.CRDS, external=external)
    runs = [run_schedule(target, Schedule(seed)) for seed in (1, 2)]
    reference, rules = ReferenceRuns.learn(runs), OracleRules()
    assert judge_reference(reference, rules) == []
    fault = (FAULTS if version == "buggy" else TWIN_FAULTS)[name](runs[0])
    result = run_schedule(target, Schedule(1, (fault,)), accepts=lambda result: not judge(reference, result, rules))
    assert result.unhit == []
    return judge(reference, result, rules)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_bug_is_reported(name: str) -> None:
    assert {finding.oracle for finding in explore_fault(name, "buggy")} & set(OPERATORS[name].ORACLES)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_repaired_operator_is_accepted(name: str) -> None:
    assert explore_fault(name, "fixed") == []
