"""Smaller schedules, and faults in shorter workloads."""

from __future__ import annotations

import pytest

from masthead.testing._explore.faults import Absence, Answer, Crash, HeldEvents, PlannedFault, Restart, SlowController
from masthead.testing._explore.relocation import relocate
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.shrink import shorten, skip_steps, weaken
from masthead.testing.exploration import ChangeRecord, RunResult, WriteRecord

RESOURCES = ("configmaps", "secrets")


@pytest.mark.parametrize(
    ("fault", "weaker"),
    [
        (Crash(1), []),
        (
            Crash(1, view=5),
            [Crash(1), Crash(1, view=5, resources=("configmaps",)), Crash(1, view=5, resources=("secrets",))],
        ),
        (Restart(2, 5, ("secrets",), 3), [Restart(2), Restart(2, 5, ("secrets",))]),
        (
            HeldEvents("secrets", 5, 2, is_lost=True),
            [HeldEvents("secrets", 5, 2), HeldEvents("secrets", 5, 1, is_lost=True)],
        ),
        (Absence(1, 3), [Absence(1, 2), Absence(2, 3)]),
        (Answer(1, "503", 3), [Answer(1, "503")]),
        (SlowController("garbage", 30.0), [SlowController("garbage", 7.0)]),
    ],
    ids=["crash", "stale crash", "stale restart", "hold", "absence", "answers", "slow"],
)
def test_a_fault_becomes_weaker(fault: PlannedFault, weaker: list[PlannedFault]) -> None:
    assert [schedule.faults for schedule in weaken(Schedule(0, (fault,)), RESOURCES)] == [(found,) for found in weaker]


def test_faults_are_left_out_first() -> None:
    schedule = Schedule(0, (Crash(1), Crash(2, view=7)))

    assert [found.faults for found in weaken(schedule)][:3] == [(Crash(2, view=7),), (Crash(1),), (Crash(1), Crash(2))]


def test_the_workload_ends_as_early_as_possible() -> None:
    assert [found.steps for found in shorten(Schedule(0, (Crash(1),)), last_step=2, steps=5)] == [2, 3, 4]
    assert [found.steps for found in shorten(Schedule(0, (HeldEvents("secrets", 5, 4),)), 2, 5)] == [4]


def test_steps_of_faults_are_not_left_out() -> None:
    schedule = Schedule(0, (Restart(2),), steps=4, skipped=(1,))

    assert [found.skipped for found in skip_steps(schedule, 5)] == [(1, 3), (1, 4)]


def make_run(*steps: int) -> RunResult:
    """Make a run with a write and a change in each of some steps."""
    run = RunResult(Schedule())
    for number, step in enumerate(steps, 1):
        run.writes.append(WriteRecord(number, step, "operator-1", "apply", "secrets", "default/a", 200))
        run.changes.append(ChangeRecord(10 * number, step, "MODIFIED", "secrets", "default/a", "u"))
    return run


def test_faults_are_located_in_a_shorter_workload() -> None:
    whole, part = make_run(1, 2, 3, 3), make_run(2, 3, 3)
    faults = (Crash(4, view=25), HeldEvents("secrets", 15, 3), Absence(1, 2))

    assert relocate(faults, whole, part) == (Crash(3, view=19), HeldEvents("secrets", 9, 3), Absence(1, 2))


def test_a_fault_without_its_write_cannot_be_located() -> None:
    assert relocate((Crash(1),), make_run(1, 2), make_run(2)) is None
