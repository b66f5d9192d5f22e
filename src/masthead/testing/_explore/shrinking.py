"""Confirms findings and shrinks their schedules, by running smaller ones."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from masthead.testing._explore.jobs import Job, RunOutcome
from masthead.testing._explore.shrink import shorten, skip_steps, weaken

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.trace import RunResult
    from masthead.testing._explore.workers import Pool

__all__ = ["Shrinker"]

_CONFIRMATIONS: Final = 2
_MAX_RUNS: Final = 80
"""The maximum number of runs to shrink a finding."""


class Shrinker:
    """Looks for the smallest schedule that shows a finding.

    Args:
        pool: Performs the runs.
        reference: The run without faults.
        steps: The number of steps that can be left out; 0 if the workload is a function.
        deadline: When to stop, in seconds of `time.monotonic`.
    """

    def __init__(self, pool: Pool, reference: RunResult, steps: int, deadline: float) -> None:
        self._pool = pool
        self._resources = reference.resources
        self._length = len(reference.rests)
        self._steps = steps
        self._deadline = deadline
        self._runs = 0

    def confirm(self, finding: Finding) -> int | None:
        """Run the schedule of a finding again; return how often it showed the finding, None if time ran out."""
        jobs = [Job(finding.schedule) for _ in range(_CONFIRMATIONS)]
        outcomes = self._perform(jobs)
        # Runs that did not finish say nothing about the finding.
        if not any(outcomes):
            return None
        return sum(_shows(outcome, finding) for outcome in outcomes)

    def shrink(self, finding: Finding) -> Finding:
        """Return the finding with the smallest schedule that still shows it, and with its run."""
        schedule, last_step = finding.schedule, self._length
        while not self._is_over():
            smaller = self._first(finding, [Job(found) for found in weaken(schedule, self._resources)])
            if smaller is None:
                break
            schedule = smaller.schedule
        # Weaker faults may strike in another step, which limits how short the workload can be.
        if not self._is_over() and (again := self._first(finding, [Job(schedule)])) is not None:
            last_step = again.last_step or last_step
        if not self._is_over():
            jobs = [Job(found) for found in shorten(schedule, last_step, self._length)]
            schedule = self._schedule_of(self._first(finding, jobs), schedule)
        # Numbers of later faults come from a run with the first one, and cannot be located in another workload.
        while self._steps and len(schedule.faults) <= 1 and not self._is_over():
            jobs = [Job(found, relocates=True) for found in skip_steps(schedule, self._steps)]
            smaller = self._first(finding, jobs)
            if smaller is None:
                break
            schedule = smaller.schedule
        return self._with_run(finding, schedule)

    def _with_run(self, finding: Finding, schedule: Schedule) -> Finding:
        # A nondeterministic operator may not show the finding again with the smaller schedule.
        for candidate in (schedule, finding.schedule):
            outcome = self._first(finding, [Job(candidate, keeps_run=True)])
            if outcome is not None:
                return next(found for found in outcome.findings if _is_same(found, finding))
        return finding

    def _schedule_of(self, outcome: RunOutcome | None, default: Schedule) -> Schedule:
        return default if outcome is None else outcome.schedule

    def _first(self, finding: Finding, jobs: Sequence[Job]) -> RunOutcome | None:
        """Return the first outcome with a finding."""
        return next((outcome for outcome in self._perform(jobs) if outcome and _shows(outcome, finding)), None)

    def _perform(self, jobs: Iterable[Job]) -> list[RunOutcome | None]:
        # Submit all jobs before waiting for any, so that all cores work.
        numbers = [self._pool.submit(job, is_urgent=True) for job in jobs]
        self._runs += len(numbers)
        outcomes: list[RunOutcome | None] = []
        for number in numbers:
            reply = self._pool.wait(number, self._deadline)
            outcomes.append(reply.result if reply is not None and isinstance(reply.result, RunOutcome) else None)
        return outcomes

    def _is_over(self) -> bool:
        return self._runs >= _MAX_RUNS or time.monotonic() >= self._deadline


def _shows(outcome: RunOutcome | None, finding: Finding) -> bool:
    # With a fault of no effect, a schedule is not smaller.
    return outcome is not None and not outcome.unhit and any(_is_same(found, finding) for found in outcome.findings)


def _is_same(found: Finding, finding: Finding) -> bool:
    # Summaries may differ between schedules of the same defect.
    return (found.oracle, found.subject) == (finding.oracle, finding.subject)
