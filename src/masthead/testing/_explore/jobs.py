"""What workers do: run schedules without faults to learn, and schedules with faults to judge them."""

from __future__ import annotations

import hashlib
import pickle
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from masthead.testing._explore.candidates import FaultCandidate
from masthead.testing._explore.faults import Absence, PlannedFault, Restart
from masthead.testing._explore.findings import Finding
from masthead.testing._explore.plan import find_follow_ups
from masthead.testing._explore.points import find_edits
from masthead.testing._explore.reference import ReferenceRuns
from masthead.testing._explore.relocation import relocate
from masthead.testing._explore.run import run_schedule
from masthead.testing._explore.schedule import Schedule
from masthead.testing._explore.trace import RunResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead.testing._explore.target import Target

__all__ = ["Job", "Judge", "Knowledge", "LearnJob", "Learned", "RunOutcome", "Performer", "digest", "learn"]

Judge: TypeAlias = "Callable[[ReferenceRuns, RunResult], list[Finding]]"
"""Compares a run with the reference."""
_JOIN_SECONDS: Final = 0.5
"""Real seconds for a thread to end after a run."""
_MAX_SUMMARY: Final = 4_000


class LearnJob(msgspec.Struct, frozen=True):
    """Run schedules without faults that matter, in the same process one after the other.

    Attributes:
        schedules: The schedules.
    """

    schedules: tuple[Schedule, ...]


class Learned(msgspec.Struct):
    """The outcome of a `LearnJob`.

    Attributes:
        runs: The runs.
        has_election: Whether the operator elects a leader.
        threads: The number of threads that the runs left behind.
    """

    runs: list[RunResult]
    has_election: bool = False
    threads: int = 0


class Job(msgspec.Struct, frozen=True):
    """Run a schedule, and judge it.

    Attributes:
        schedule: The schedule.
        keeps_run: Whether findings keep the run.
        relocates: Whether the numbers of its faults belong to the whole workload, and are to be located in the shorter
            one.
        finds_more: Whether to look for further faults.
    """

    schedule: Schedule
    keeps_run: bool = False
    relocates: bool = False
    finds_more: bool = False


class RunOutcome(msgspec.Struct):
    """The outcome of a `Job`.

    Attributes:
        schedule: The schedule; another one if its faults were relocated.
        findings: The findings.
        unhit: The faults that never struck.
        follow_ups: Faults that could strike after those of the schedule.
        digest: A hash of all that happened.
        last_step: The step in which the last fault struck.
        is_known: Whether the schedule could run; not if its faults could not be located.
    """

    schedule: Schedule
    findings: list[Finding] = []
    unhit: list[PlannedFault] = []
    follow_ups: list[FaultCandidate] = []
    digest: str = ""
    last_step: int = 0
    is_known: bool = True


class Knowledge(msgspec.Struct):
    """What all workers need to know about the operator.

    Attributes:
        runs: The runs without faults.
        restarts: The runs in which the operator was merely restarted.
        edits: The runs in which another client annotated objects at rest.
        late: The run of an operator that was down during all steps; None if it did not end well.
        known: The classes of single faults.
        has_election: Whether the operator elects a leader.
        warms_up: Whether a worker may run the operator itself, to fill caches: not if it keeps state between runs.
    """

    runs: list[RunResult]
    restarts: list[RunResult] = []
    edits: list[RunResult] = []
    late: RunResult | None = None
    known: frozenset[str] = frozenset()
    has_election: bool = False
    warms_up: bool = True


class Performer:
    """Performs jobs, in a fork or in this process.

    Args:
        target: The operator and its workload.
        judge: Compares a run with the reference.
        keeps_states: Whether the judge needs the objects at the end of each step.
    """

    def __init__(self, target: Target, judge: Judge, *, keeps_states: bool = False) -> None:
        self._target = target
        self._judge = judge
        self._keeps_states = keeps_states
        self._knowledge: Knowledge | None = None
        self._reference: ReferenceRuns | None = None

    def prepare(self, message: object) -> None:
        """Take over the knowledge about the operator."""
        assert isinstance(message, Knowledge)
        self._knowledge = message
        self._reference = learn(message)
        # Modules and caches that the first run fills are then shared by the forks of all jobs.
        if message.warms_up:
            before = set(threading.enumerate())
            run_schedule(self._target, message.runs[0].schedule)
            # A fork has none of the threads, but all locks that they hold.
            _count_threads(before)

    def perform(self, job: object) -> Learned | RunOutcome:
        """Perform a job."""
        if isinstance(job, LearnJob):
            return self._learn(job)
        assert isinstance(job, Job)
        return self._run(job)

    def _learn(self, job: LearnJob) -> Learned:
        before = set(threading.enumerate())
        runs = [self._run_whole(schedule) for schedule in job.schedules]
        # Only the manager itself knows whether it elects a leader.
        options = self._target.make_app(*_system_of(self._target)).options
        return Learned(runs, bool(options.leader_election_id), _count_threads(before))

    def _run_whole(self, schedule: Schedule) -> RunResult:
        # After faults, a restart would show nothing about idempotency.
        run = run_schedule(self._target, schedule, keeps_states=True, checks_restart=not schedule.faults)
        run.external = _make_portable(run.external)
        return run

    def _run(self, job: Job) -> RunOutcome:
        assert self._knowledge is not None
        assert self._reference is not None
        schedule, reference = job.schedule, self._reference
        if schedule.steps or schedule.skipped:
            # The end of a shorter workload is another one.
            reference = self._learn_shorter(schedule)
            if job.relocates:
                # Without some of the steps, writes have other numbers.
                faults = relocate(schedule.faults, self._reference.run, reference.run)
                # The faults belong to steps that were left out.
                if faults is None:
                    return RunOutcome(schedule, is_known=False)
                schedule = msgspec.structs.replace(schedule, faults=faults)

        def accepts(result: RunResult) -> bool:
            return not self._judge(reference, result)

        run = run_schedule(self._target, schedule, keeps_states=self._keeps_states, accepts=accepts)
        # Judged here rather than by the explorer, since runs are large and judging takes time.
        findings = self._judge(reference, run)
        outcome = RunOutcome(
            schedule, unhit=run.unhit, digest=digest(run), last_step=_last_strike(run), findings=_trim(findings)
        )
        if job.keeps_run:
            # Only the runs of findings are sent to another process.
            run.external = _make_portable(run.external)
            outcome.findings = [replace(finding, run=run) for finding in outcome.findings]
        # After a defect, further faults would only repeat it.
        if job.finds_more and not findings:
            knowledge = self._knowledge
            outcome.follow_ups = find_follow_ups(run, knowledge.known, has_election=knowledge.has_election)
        return outcome

    def _learn_shorter(self, schedule: Schedule) -> ReferenceRuns:
        """Learn from runs of a part of the workload."""
        # As for the whole workload: two seeds, a late start, a mere restart, and edits by others.
        plain = msgspec.structs.replace(schedule, faults=())
        runs = [self._run_whole(msgspec.structs.replace(plain, seed=plain.seed + number)) for number in range(2)]
        steps = len(runs[0].rests)
        faults: list[tuple[PlannedFault, ...]] = [(Absence(1, steps),), (Restart(steps),), tuple(find_edits(runs[0]))]
        late, restart, edits = [self._run_whole(msgspec.structs.replace(plain, faults=found)) for found in faults]
        return learn(Knowledge(runs, [restart], [edits], late))


def learn(knowledge: Knowledge) -> ReferenceRuns:
    """Return the reference from the knowledge about an operator."""
    reference = ReferenceRuns.learn(knowledge.runs, knowledge.restarts, knowledge.late)
    for run in knowledge.edits:
        reference.learn_edit(run)
    return reference


def digest(run: RunResult) -> str:
    """Return a hash of all that happened in a run."""
    # Objects follow from the changes.
    content = (run.entries, run.writes, run.reads, run.changes, run.rests, run.problem, run.workload_error, run.calls)
    return hashlib.blake2b(msgspec.msgpack.encode(content), digest_size=16).hexdigest()


def _count_threads(before: set[threading.Thread]) -> int:
    """Return the number of threads that do not end with a run."""
    for thread in set(threading.enumerate()) - before:
        # Threads of pools need a moment to notice the end.
        thread.join(_JOIN_SECONDS)
    return len(set(threading.enumerate()) - before)


def _system_of(target: Target) -> tuple[object, ...]:
    return () if target.external is None else (target.external(),)


def _make_portable(value: object) -> object:
    """Return a value that can be sent to another process: itself, or its text."""
    try:
        pickle.dumps(value)
    except Exception:  # noqa: BLE001 - whatever objects of the user do
        return repr(value)
    return value


def _trim(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings without their runs, which are large."""
    return [replace(finding, run=None, summary=finding.summary[:_MAX_SUMMARY]) for finding in findings]


def _last_strike(run: RunResult) -> int:
    """Return the step in which the last fault struck."""
    steps = [entry.step for entry in run.entries if entry.kind == "fault"]
    # Later entries are the ends of faults, such as the release of a view.
    return steps[len(run.schedule.faults) - 1] if len(steps) >= len(run.schedule.faults) > 0 else 0
