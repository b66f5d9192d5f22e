"""The exploration of an operator: learn how it works without faults, run schedules, confirm and shrink findings."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._module import set_module
from masthead.testing._explore.defects import Defects
from masthead.testing._explore.describe import describe_schedule
from masthead.testing._explore.jobs import Job, Knowledge, RunOutcome, digest, learn
from masthead.testing._explore.learning import ExplorationError, describe_failure, study
from masthead.testing._explore.plan import PlannedSchedule, SchedulePlan
from masthead.testing._explore.shrinking import Shrinker

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.testing._explore.budget import Budget
    from masthead.testing._explore.child import Reply
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.jobs import Judge
    from masthead.testing._explore.resume import ResumeFile
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.trace import RunResult
    from masthead.testing._explore.workers import Pool

__all__ = ["Exploration", "ExplorationProgress", "StopExploration", "Summary", "check_reference"]

_WINDOW: Final = 16
"""Schedules on their way at the same time. It does not depend on the number of processes, and so the order does not."""
_LEARNING_SHARE: Final = 0.2
"""The share of the time after which no further run without faults begins."""
_SHRINKING_SHARE: Final = 0.5
"""The share of the time that confirming and shrinking findings may take."""
_MIN_SHRINKING_SECONDS: Final = 2.0
_SHRINKING_SECONDS: Final = 10.0
"""The maximum number of seconds to confirm and shrink a finding."""
_OVERTIME_SECONDS: Final = 1.0
"""Seconds after the end of the budget, to confirm a last finding."""
_MAX_UNREACHED: Final = 1_000
"""The maximum number of unreached schedules that are listed; all are counted."""
_NOTE_LINES: Final = 6
_MULTIPLE: Final = {2: "pairs", 3: "triples"}


@set_module("masthead.testing.exploration")
class StopExploration(Exception):  # noqa: N818 - it asks for an end, as StopIteration does
    """Raised by `on_progress` to end an exploration early; its report has the findings so far."""


@set_module("masthead.testing.exploration")
@dataclass(frozen=True, slots=True)
class ExplorationProgress:
    """How far an exploration has come.

    Attributes:
        schedules: The number of schedules that have run.
        points: The number of single faults that have been tried.
        candidates: The number of single faults.
        findings: The number of defects.
        unreached: The number of schedules with a fault that never struck.
        seconds: The duration so far.
    """

    schedules: int
    points: int
    candidates: int
    findings: int
    unreached: int
    seconds: float


@dataclass(slots=True)
class Summary:
    """The results of an exploration.

    Attributes:
        findings: The defects.
        schedules: The number of schedules that ran, and whose faults all struck.
        coverage: The tried and the known fault points, by family.
        unreached: Schedules with a fault that never struck, in words.
        notes: Remarks for the reader.
    """

    findings: list[Finding] = field(default_factory=list["Finding"])
    schedules: int = 0
    coverage: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    unreached: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


def check_reference(run: RunResult) -> None:
    """Check that a run without faults can be compared with others.

    Raises:
        ExplorationError: If the operator does not start, or the workload fails.
    """
    # An operator that reconciles without coming to rest is a finding, and no error.
    if run.problem and not any(entry.kind == "reconcile" for entry in run.entries):
        raise ExplorationError(f"the operator does not work without any fault: {run.problem}")
    # An operator that never rests makes the workload fail as well; its problem is the cause.
    if run.workload_error and not run.problem:
        raise ExplorationError(
            f"the workload fails without any fault: {run.workload_error}. It must pass before faults are of interest"
        )


class Exploration:
    """An exploration.

    Args:
        pool: Performs the runs.
        judge: Judges the run without faults; those with faults are judged where they run.
        budget: Its limits.
        seed: The seed of all runs.
        steps: The number of steps of the workload that can be left out.
        resume: The file with the progress of earlier explorations; None for none.
        on_progress: Called after each schedule.
    """

    def __init__(
        self,
        pool: Pool,
        judge: Judge,
        budget: Budget,
        *,
        seed: int = 0,
        steps: int = 0,
        resume: ResumeFile | None = None,
        on_progress: Callable[[ExplorationProgress], None] | None = None,
    ) -> None:
        self._pool = pool
        self._judge = judge
        self._budget = budget
        self._seed = seed
        self._steps = steps
        self._resume = resume
        self._on_progress = on_progress
        self._start = time.monotonic()
        self._deadline = self._start + budget.seconds
        self._shrinking_seconds = 0.0
        self._summary = Summary()
        self._tried: Counter[str] = Counter()
        self._unreached = 0
        self._defects = Defects()
        self._errors: set[str] = set()

    def run(self) -> Summary:
        """Explore until the budget is used up, or nothing is left to try."""
        # Faults need time as well, whatever learning could still find out.
        lesson = study(self._pool, self._seed, self._start + _LEARNING_SHARE * self._budget.seconds)
        self._summary.notes += lesson.notes
        self._defects.add_reference(lesson.findings)
        knowledge = lesson.knowledge
        if knowledge is not None:
            self._explore(knowledge)
        self._summary.findings = list(self._defects)
        return self._summary

    def _explore(self, knowledge: Knowledge) -> None:
        reference = learn(knowledge)
        run = reference.run
        if reference.nondeterminism:
            self._summary.notes.append(
                f"the operator is not deterministic: two runs with the same seed differ ({reference.nondeterminism}), "
                "so that findings may not repeat"
            )
        check_reference(run)
        self._defects.add_reference(replace(found, run=run) for found in self._judge(reference, run))
        # There is no end state to compare with.
        if run.problem:
            self._summary.notes.append("the operator does not come to rest without faults; nothing else was tried")
            return
        self._run = run
        # A fingerprint of runs that never repeat would refuse each file.
        self._open_resume_file("" if reference.nondeterminism else digest(run))
        done = self._resume.done if self._resume is not None else set[str]()
        plan = SchedulePlan(
            run,
            seed=self._seed,
            has_election=knowledge.has_election,
            is_done=lambda schedule: str(schedule) in done,
        )
        knowledge.known = plan.known
        # The workers are warm already; now they get the classes of faults.
        self._pool.prepare(msgspec.structs.replace(knowledge, warms_up=False))
        try:
            self._work(plan)
        except StopExploration:
            self._summary.notes.append("stopped before its budget was used up")
        self._summary.coverage = {
            # The share of tried points never exceeds 100 %.
            family: (self._tried[family], max(count, self._tried[family]))
            for family, count in plan.candidates.items()
        }
        self._summary.coverage |= {
            name: (self._tried[name], self._tried[name]) for name in _MULTIPLE.values() if self._tried[name]
        }
        if self._unreached > _MAX_UNREACHED:
            self._summary.notes.append(f"{self._unreached - _MAX_UNREACHED} more schedules had unreached faults")

    def _open_resume_file(self, fingerprint: str) -> None:
        if self._resume is None:
            return
        self._resume.open(fingerprint)
        # Known defects are counted, and not shrunk again.
        for finding in self._resume.findings:
            self._defects.add(finding)
        if self._resume.done:
            self._summary.notes.append(f"{len(self._resume.done)} schedules had run before")

    def _work(self, plan: SchedulePlan) -> None:
        """Run the schedules of the plan.

        A schedule is chosen after the judgement of exactly the schedules that are a window ahead of it, so that the
        choice does not depend on the speed of the machine.
        """
        window: deque[tuple[int, PlannedSchedule]] = deque()
        count = 0
        while True:
            while len(window) < _WINDOW and not self._is_over(count):
                planned = plan.next()
                if planned is None:
                    break
                count += 1
                job = Job(planned.schedule, finds_more=True)
                window.append((self._pool.submit(job), planned))
            if not window:
                return
            number, planned = window.popleft()
            reply = self._pool.wait(number, self._deadline)
            # The time is over; schedules on their way are lost, and not counted.
            if reply is None:
                return
            self._take(plan, planned, reply)
            self._report_progress(plan)

    def _is_over(self, count: int) -> bool:
        limit = self._budget.schedules
        return (limit is not None and count >= limit) or time.monotonic() >= self._deadline

    def _take(self, plan: SchedulePlan, planned: PlannedSchedule, reply: Reply) -> None:
        """Take the outcome of a schedule into account."""
        outcome = reply.result
        name = planned.family if len(planned.candidates) == 1 else _MULTIPLE[len(planned.candidates)]
        self._tried[name] += 1
        # Before it is judged: a schedule that breaks the explorer must not be repeated for ever.
        if self._resume is not None:
            self._resume.add_schedule(planned.schedule)
        if not isinstance(outcome, RunOutcome):
            if reply.is_internal:
                self._add_internal_error(planned.schedule, reply)
                return
            self._summary.schedules += 1
            # The operator has ended or blocked its process, which no oracle could see.
            plan.add_defect(planned)
            self._report(describe_failure(planned.schedule, reply))
            return
        # A fault that never struck tests nothing, whatever the run shows.
        if outcome.unhit:
            self._add_unreached(planned.schedule)
            return
        self._summary.schedules += 1
        finding = self._defects.relevant(outcome.findings)
        if finding is None:
            plan.add_follow_ups(planned, outcome.follow_ups)
            return
        plan.add_defect(planned)
        # Up to its fault, a schedule is like the reference, which has the names of writes and steps.
        if not self._defects.count(replace(finding, run=self._run)):
            self._examine(finding)

    def _add_internal_error(self, schedule: Schedule, reply: Reply) -> None:
        """Take note of a run that the explorer itself could not finish: it is no pass, and no finding."""
        self._add_unreached(schedule)
        title, *stack = reply.failure.splitlines()
        # One note is enough, however many schedules come by.
        if title not in self._errors:
            self._errors.add(title)
            place = " ".join(line.strip() for line in stack[-_NOTE_LINES:])
            self._summary.notes.append(f"an error of the explorer in {schedule}; please report it: {title} ({place})")

    def _add_unreached(self, schedule: Schedule) -> None:
        self._unreached += 1
        if self._unreached <= _MAX_UNREACHED:
            self._summary.unreached.append("; ".join(describe_schedule(schedule, self._run)))

    def _examine(self, finding: Finding) -> None:
        """Confirm and shrink the first finding of a defect."""
        start = time.monotonic()
        # Many findings must not use up the time in which others could be found.
        allowed = max(_SHRINKING_SHARE * self._budget.seconds - self._shrinking_seconds, _MIN_SHRINKING_SECONDS)
        deadline = min(start + min(allowed, _SHRINKING_SECONDS), self._deadline + _OVERTIME_SECONDS)
        shrinker = Shrinker(self._pool, self._run, self._steps, deadline)
        shown = shrinker.confirm(finding)
        # An operator with threads or clocks may fail once, and never again.
        if shown == 0:
            self._summary.notes.append(
                f"a finding did not repeat, so that it is not reported: {finding.oracle}: {finding.summary} "
                f"({finding.schedule})"
            )
            return
        # An unconfirmed finding is still worth reporting.
        if shown is None:
            self._summary.notes.append(f"there was no time to confirm {finding.schedule}")
        else:
            if shown == 1:
                self._summary.notes.append(f"{finding.schedule} shows its finding in one of two runs only")
            finding = shrinker.shrink(finding)
        self._shrinking_seconds += time.monotonic() - start
        self._report(finding)

    def _report(self, finding: Finding) -> None:
        """Add a defect to the results, also of an exploration that is resumed later."""
        self._defects.add(finding)
        if self._resume is not None:
            self._resume.add_finding(finding)

    def _report_progress(self, plan: SchedulePlan) -> None:
        if self._on_progress is None:
            return
        # Pairs and triples have no known number.
        points = sum(count for name, count in self._tried.items() if name not in _MULTIPLE.values())
        self._on_progress(
            ExplorationProgress(
                schedules=self._summary.schedules,
                points=points,
                candidates=sum(plan.candidates.values()),
                findings=len(self._defects),
                unreached=self._unreached,
                seconds=time.monotonic() - self._start,
            )
        )
