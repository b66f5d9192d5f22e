"""Runs the same schedules twice, and compares all that happened."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from masthead.testing._explore.explore import Setup, make_pool
from masthead.testing._explore.jobs import Job, RunOutcome
from masthead.testing._explore.learning import study
from masthead.testing._explore.plan import PlannedSchedule, SchedulePlan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Unpack

    from masthead.testing._explore.explore import AppSource, ExploreOptions
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.workers import Pool
    from masthead.testing._explore.workload import WorkloadLike

__all__ = ["compare_runs"]

_WINDOW: Final = 16


def compare_runs(
    make_app: AppSource,
    workload: WorkloadLike,
    *,
    count: int,
    processes: int = 2,
    seed: int = 0,
    **options: Unpack[ExploreOptions],
) -> tuple[int, list[Schedule]]:
    """Run the first schedules of a plan twice, each time in a new process.

    Returns:
        The number of compared schedules, and those whose two runs differ.
    """
    setup = Setup(make_app, workload, options)
    with make_pool(setup.performer, processes) as pool:
        knowledge = study(pool, seed).knowledge
        assert knowledge is not None
        plan = SchedulePlan(knowledge.runs[0], seed=seed, has_election=knowledge.has_election)
        knowledge.known = plan.known
        pool.prepare(knowledge)
        compared = 0
        different: list[Schedule] = []
        for planned, first, second in _run_twice(pool, plan, count):
            compared += 1
            if first is None or second is None or first.digest != second.digest:
                different.append(planned.schedule)
            elif not first.findings:
                plan.add_follow_ups(planned, first.follow_ups)
    return compared, different


def _run_twice(
    pool: Pool, plan: SchedulePlan, count: int
) -> Iterator[tuple[PlannedSchedule, RunOutcome | None, RunOutcome | None]]:
    window: deque[tuple[PlannedSchedule, int, int]] = deque()
    planned_count = 0
    while True:
        while len(window) < _WINDOW and planned_count < count:
            planned = plan.next()
            if planned is None:
                break
            planned_count += 1
            job = Job(planned.schedule, finds_more=True)
            window.append((planned, pool.submit(job), pool.submit(job)))
        if not window:
            return
        planned, first, second = window.popleft()
        yield planned, _outcome_of(pool, first), _outcome_of(pool, second)


def _outcome_of(pool: Pool, number: int) -> RunOutcome | None:
    reply = pool.wait(number)
    return reply.result if reply is not None and isinstance(reply.result, RunOutcome) else None
