"""FaultCandidate faults and their order."""

from __future__ import annotations

from itertools import islice

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from masthead.testing._explore.candidates import FAMILIES, FaultCandidate, find_candidates
from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    FailedRead,
    HandOver,
    HeldEvents,
    OtherKeyOrder,
    Restart,
    SlowController,
)
from masthead.testing._explore.plan import SchedulePlan, find_follow_ups, order_candidates
from masthead.testing._explore.points import Points
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.trace import ChangeRecord, ObjectView, ReadRecord, RunResult, TraceEntry, WriteRecord

RESOURCES = ("sites.example.com", "configmaps", "deployments.apps")
OPERATOR = "operator-1"


def make_run(actions: list[tuple[int, str, int, int]], faults: tuple[object, ...] = ()) -> RunResult:
    """Make a run of steps with reconciles: (step, verb, resource, number of writes), with a user's change each."""
    run = RunResult(Schedule(0, faults), resources=sorted(RESOURCES))  # type: ignore[arg-type]
    revision = 10
    for index, (step, verb, resource, count) in enumerate(sorted(actions)):
        revision += 1
        kind = "MODIFIED" if index % 3 else ("DELETED" if index % 2 else "ADDED")
        run.changes.append(ChangeRecord(revision, step, kind, RESOURCES[0], "default/a", "u", "user"))
        for _ in range(count):
            number = len(run.writes) + 1
            run.writes.append(
                WriteRecord(
                    number,
                    step,
                    OPERATOR,
                    verb,
                    RESOURCES[resource],
                    f"default/{verb}",
                    200,
                    controller="sites",
                    primary=f"default/{index % 2}",
                    reconcile=f"r{index}",
                    revision=revision,
                    live=ObjectView(version=revision),
                )
            )
            revision += 1
            run.changes.append(
                ChangeRecord(
                    revision, step, "MODIFIED", RESOURCES[resource], f"default/{verb}", "v", OPERATOR, f"r{index}"
                )
            )
            run.entries.append(TraceEntry(0.0, "write", "", step, OPERATOR, f"r{index}", number))
    run.rests = [
        max([change.revision for change in run.changes if change.step <= step], default=10)
        for step in range(1, max((action[0] for action in actions), default=0) + 1)
    ]
    return run


RUNS = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.sampled_from(["create", "update", "apply", "delete"]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=8,
).map(make_run)


def plan_all(run: RunResult, limit: int = 100_000) -> list[Schedule]:
    plan = SchedulePlan(run)
    return [planned.schedule for planned in islice(iter(plan.next, None), limit)]


@given(RUNS)
def test_no_schedule_is_planned_twice(run: RunResult) -> None:
    schedules = plan_all(run)

    assert len(set(schedules)) == len(schedules)


@given(RUNS)
def test_each_write_is_covered_by_a_crash_and_a_lost_response(run: RunResult) -> None:
    faults = {schedule.faults[0] for schedule in plan_all(run)}

    assert {Crash(write.number) for write in run.writes} <= faults
    assert {Answer(write.number, "lost") for write in run.writes} <= faults


@given(RUNS)
def test_the_order_is_repeatable(run: RunResult) -> None:
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(run), type=RunResult)

    assert plan_all(run) == plan_all(again)


@given(RUNS, st.integers(0, 50))
def test_a_small_budget_gets_the_beginning_of_a_large_one(run: RunResult, count: int) -> None:
    assert plan_all(run, count) == plan_all(run)[:count]


@given(RUNS)
def test_each_class_comes_before_any_of_its_repetitions(run: RunResult) -> None:
    ordered = list(order_candidates(find_candidates(Points(run))))
    classes = {candidate.shape for candidate in ordered}

    assert len({candidate.shape for candidate in ordered[: len(classes)]}) == len(classes)


@given(RUNS)
def test_the_plan_has_all_candidates(run: RunResult) -> None:
    candidates = {candidate.fault for candidate in find_candidates(Points(run))}

    assert {schedule.faults[0] for schedule in plan_all(run)} == candidates


def test_families_take_turns() -> None:
    run = make_run([(step, verb, 1, 2) for step in (1, 2, 3) for verb in ("create", "update", "apply")])
    families = [candidate.family for candidate in islice(order_candidates(find_candidates(Points(run))), 20)]

    assert len(set(families)) >= 8


def test_a_crash_before_a_write_is_left_out_if_nothing_happens_since_the_last_write() -> None:
    run = make_run([(1, "apply", 1, 3)])
    crashes = [
        candidate.fault
        for candidate in find_candidates(Points(run))
        if isinstance(candidate.fault, Crash) and candidate.fault.when == "before"
    ]

    assert crashes == [Crash(1, "before")]


def test_a_crash_before_a_write_is_kept_after_a_live_read() -> None:
    run = make_run([(1, "apply", 1, 2)])
    run.reads.append(ReadRecord(1, 1, OPERATOR, "/api/v1/namespaces/default/configmaps/a", 200, "sites", "default/0"))
    run.entries.insert(1, TraceEntry(0.0, "read", "", 1, OPERATOR, "r0", 1))
    faults = [candidate.fault for candidate in find_candidates(Points(run))]

    assert Crash(2, "before") in faults
    assert FailedRead(1) in faults


def test_creations_crash_before_applies() -> None:
    run = make_run([(1, "apply", 1, 2), (2, "create", 2, 2)])
    crashes = [
        fault
        for schedule in plan_all(run)
        if isinstance(fault := schedule.faults[0], Crash) and fault.when == "stored" and not fault.view
    ]

    assert run.writes[crashes[0].write - 1].verb == "create"


def test_views_before_a_deletion_come_first() -> None:
    run = make_run([(1, "apply", 1, 1), (2, "apply", 1, 1), (3, "apply", 1, 1)])
    deleted = 20
    run.changes.append(ChangeRecord(deleted, 3, "DELETED", RESOURCES[2], "default/x", "x", OPERATOR))
    run.rests[-1] = deleted
    views = [
        candidate.fault
        for candidate in order_candidates(find_candidates(Points(run)))
        if isinstance(candidate.fault, Restart) and candidate.fault.view
    ]

    assert views[0].step == 3
    assert views[0].view < deleted


def test_restarts_and_absences_cover_each_span() -> None:
    run = make_run([(1, "apply", 1, 1), (2, "apply", 1, 1), (3, "apply", 1, 1)])
    faults = [candidate.fault for candidate in find_candidates(Points(run))]

    assert {(fault.first, fault.last) for fault in faults if isinstance(fault, Absence)} == {
        (first, last) for first in (1, 2, 3) for last in range(first, 4)
    }
    assert {fault.step for fault in faults if isinstance(fault, Restart) and not fault.view} == {1, 2, 3}
    assert {fault.resource for fault in faults if isinstance(fault, HeldEvents)} == {RESOURCES[0], RESOURCES[1]}


def test_an_early_step_needs_a_next_step() -> None:
    run = make_run([(1, "apply", 1, 1), (2, "apply", 1, 1)])
    early = [candidate.fault for candidate in find_candidates(Points(run)) if isinstance(candidate.fault, EarlyStep)]

    assert early == [EarlyStep(1)]


def test_leaders_hand_over_only_with_an_election() -> None:
    run = make_run([(1, "apply", 1, 1)])

    assert not any(isinstance(candidate.fault, HandOver) for candidate in find_candidates(Points(run)))
    assert any(isinstance(candidate.fault, HandOver) for candidate in find_candidates(Points(run), has_election=True))


def test_keys_are_reordered_if_there_are_several() -> None:
    one = make_run([(1, "apply", 1, 1)])
    two = make_run([(1, "apply", 1, 1), (1, "create", 1, 1)])

    assert OtherKeyOrder() not in [candidate.fault for candidate in find_candidates(Points(one))]
    assert OtherKeyOrder() in [candidate.fault for candidate in find_candidates(Points(two))]


def test_controllers_that_acted_are_slow() -> None:
    run = make_run([(1, "apply", 1, 1)])
    run.changes.append(ChangeRecord(99, 1, "DELETED", RESOURCES[1], "default/x", "x", "garbage"))

    assert SlowController("garbage") in [candidate.fault for candidate in find_candidates(Points(run))]


@given(RUNS.filter(lambda run: len(run.writes) > 1))
def test_further_faults_come_after_the_first(run: RunResult) -> None:
    first = Crash(1)
    run.schedule = Schedule(0, (first,))
    run.entries.insert(1, TraceEntry(0.0, "fault", "crash", run.writes[0].step))
    follow_ups = find_follow_ups(run, frozenset())

    assert follow_ups
    assert first not in [candidate.fault for candidate in follow_ups]
    assert all(
        fault.write > 1 for candidate in follow_ups if isinstance(fault := candidate.fault, Crash) and fault.write
    )


def test_a_fault_that_did_not_strike_is_not_extended() -> None:
    run = make_run([(1, "apply", 1, 2)], (Crash(9),))
    run.unhit = [Crash(9)]

    assert find_follow_ups(run, frozenset()) == []


def test_pairs_come_after_single_faults() -> None:
    run = make_run([(1, "apply", 1, 1)])
    plan = SchedulePlan(run)
    first = plan.next()
    assert first is not None
    plan.add_follow_ups(first, [FaultCandidate(Crash(7), "crash", "", "new", 1.0)])
    schedules = [planned.schedule for planned in iter(plan.next, None)]

    assert [len(schedule.faults) for schedule in schedules] == [1] * (len(schedules) - 1) + [2]
    assert schedules[-1].faults == (*first.schedule.faults, Crash(7))


def test_places_with_defects_wait_until_all_else_has_run() -> None:
    run = make_run([(step, "create", 1, 2) for step in (1, 2, 3)])
    count = len(plan_all(run))
    plan = SchedulePlan(run)
    families: list[str] = []
    for planned in iter(plan.next, None):
        families.append(planned.family)
        if planned.family == "crash":
            plan.add_defect(planned)

    assert len(families) == count
    assert families[-1] == "crash"


def test_schedules_of_an_earlier_exploration_are_left_out() -> None:
    run = make_run([(1, "apply", 1, 1)])
    done = set(plan_all(run, 5))
    rest = [planned.schedule for planned in iter(SchedulePlan(run, is_done=done.__contains__).next, None)]

    assert rest == plan_all(run)[5:]


def test_each_family_has_a_share() -> None:
    assert all(share > 0 for share in FAMILIES.values())


def test_an_object_that_comes_and_goes_unseen_is_no_matter() -> None:
    run = make_run([(1, "apply", 1, 1), (2, "apply", 1, 1), (3, "apply", 1, 1)])
    run.changes = [
        ChangeRecord(20, 1, "ADDED", RESOURCES[0], "default/a", "first", "user"),
        ChangeRecord(21, 2, "DELETED", RESOURCES[0], "default/a", "first", "user"),
        ChangeRecord(22, 3, "ADDED", RESOURCES[0], "default/a", "second", "user"),
    ]
    run.rests = [20, 21, 22]
    faults = [candidate.fault for candidate in find_candidates(Points(run))]

    assert {(fault.first, fault.last) for fault in faults if isinstance(fault, Absence)} == {
        (1, 1),
        (2, 2),
        (2, 3),
        (3, 3),
    }
    assert {(fault.revision, fault.last) for fault in faults if isinstance(fault, HeldEvents)} == {
        (19, 1),
        (20, 2),
        (20, 3),
        (21, 3),
    }
