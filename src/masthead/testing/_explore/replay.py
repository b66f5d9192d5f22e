"""One schedule, run and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from masthead.testing._explore.describe import describe
from masthead.testing._explore.explorer import Summary, check_reference
from masthead.testing._explore.jobs import Job, RunOutcome, learn
from masthead.testing._explore.learning import describe_failure, study

if TYPE_CHECKING:
    from masthead.testing._explore.jobs import Judge
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.workers import Pool

__all__ = ["replay_schedule"]


def replay_schedule(pool: Pool, judge: Judge, schedule: Schedule) -> Summary:
    """Run a schedule, and judge it by runs without faults.

    Raises:
        ExplorationError: If the operator does not start, or the workload fails without any fault.
    """
    summary = Summary()
    lesson = study(pool, schedule.seed)
    summary.notes += lesson.notes
    summary.findings += lesson.findings
    if lesson.knowledge is None:
        return summary
    reference = learn(lesson.knowledge)
    check_reference(reference.run)
    if not schedule.faults and not schedule.steps and not schedule.skipped:
        summary.findings += [replace(found, run=reference.run) for found in judge(reference, reference.run)]
        summary.schedules = 1
        return summary
    pool.prepare(msgspec.structs.replace(lesson.knowledge, warms_up=False))
    reply = pool.wait(pool.submit(Job(schedule, keeps_run=True)))
    assert reply is not None
    outcome = reply.result
    if not isinstance(outcome, RunOutcome):
        summary.findings.append(describe_failure(schedule, reply))
        return summary
    summary.findings += outcome.findings
    summary.unreached += [describe(fault, reference.run) for fault in outcome.unhit]
    summary.schedules = 0 if outcome.unhit else 1
    return summary
