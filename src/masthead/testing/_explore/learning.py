"""What an operator does without faults, learnt from several runs of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._module import set_module
from masthead.errors import MastheadError
from masthead.testing._explore.faults import Absence, Restart
from masthead.testing._explore.findings import Finding
from masthead.testing._explore.jobs import Knowledge, Learned, LearnJob, digest
from masthead.testing._explore.points import find_edits
from masthead.testing._explore.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead.testing._explore.child import Reply
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.trace import RunResult
    from masthead.testing._explore.workers import Pool

__all__ = ["ExplorationError", "Lesson", "describe_failure", "first_difference", "study"]

_MORE_RESTARTS: Final = 2
"""Restarts in addition to that after the last step."""
_BATCH: Final = 2
_REFERENCE_FACTOR: Final = 20.0
_BASE_SECONDS: Final = 10.0
"""The real-time limit of a run: this, and a multiple of the time of a run without faults."""


@set_module("masthead.testing")
class ExplorationError(MastheadError):
    """An operator cannot be explored: it does not start, or its workload fails without any fault."""


@dataclass(slots=True)
class Lesson:
    """Knowledge about an operator.

    Attributes:
        knowledge: What workers need; None if the operator did not even finish a run.
        findings: What went wrong in the processes themselves.
        notes: Remarks for the reader.
    """

    knowledge: Knowledge | None = None
    findings: list[Finding] = field(default_factory=list[Finding])
    notes: list[str] = field(default_factory=list[str])


def study(pool: Pool, seed: int, deadline: float = float("inf")) -> Lesson:
    """Run the operator without faults: with two seeds, and with the same seed in the same and in another process.

    Args:
        pool: Performs the runs.
        seed: The seed.
        deadline: The end of all optional runs, in seconds of `time.monotonic`.

    Raises:
        ExplorationError: If the operator does not start.
    """
    plain = Schedule(seed)
    # Twice in one process shows state that survives; in another one, real nondeterminism.
    jobs = [LearnJob((plain, plain)), LearnJob((plain,)), LearnJob((Schedule(seed + 1),))]
    # Submitted together, since each has a process.
    numbers = [pool.submit(job) for job in jobs]
    lesson = Lesson()
    learned: list[Learned] = []
    seconds = 0.0
    for job, number in zip(jobs, numbers, strict=True):
        reply = pool.wait(number)
        assert reply is not None
        # The slowest run counts: the machine may be busy.
        seconds = max(seconds, reply.seconds / len(job.schedules))
        # Without any fault, an error of the run is one of the arguments.
        if reply.is_internal:
            raise ExplorationError(f"the operator does not work without any fault: {reply.failure}")
        if not isinstance(reply.result, Learned):
            lesson.findings.append(describe_failure(job.schedules[0], reply))
            return lesson
        learned.append(reply.result)
    first, again = learned[0].runs
    fresh, other = learned[1].runs[0], learned[2].runs[0]
    pool.limit = _BASE_SECONDS + _REFERENCE_FACTOR * seconds
    # If even fresh processes differ, the cause is not state.
    is_stateful = digest(first) == digest(fresh) and digest(first) != digest(again)
    lesson.knowledge = Knowledge(
        [fresh, other, first],
        has_election=learned[0].has_election,
        # A warm-up would pass its state and threads on to all forks.
        warms_up=not is_stateful and not learned[0].threads,
    )
    lesson.notes += _describe_state(first, again) if is_stateful else []
    lesson.notes += _describe_threads(learned[0].threads)
    pool.prepare(lesson.knowledge)
    # Late starts and restarts mean nothing to an operator that never rests.
    if fresh.rests and not fresh.problem and not fresh.workload_error:
        _study_rests(pool, lesson, fresh, deadline)
    return lesson


def _study_rests(pool: Pool, lesson: Lesson, reference: RunResult, deadline: float) -> None:
    """Learn what a late and what a restarted operator does, and which objects keep the annotations of others."""
    knowledge = lesson.knowledge
    assert knowledge is not None
    steps = len(reference.rests)
    lateness: list[RunResult] = []
    # The most useful ones first: on a slow machine there is not time for all.
    faults: list[tuple[tuple[PlannedFault, ...], list[RunResult]]] = [((Absence(1, steps),), lateness)]
    faults += [((Restart(steps),), knowledge.restarts), (tuple(find_edits(reference)), knowledge.edits)]
    faults += [((Restart(step),), knowledge.restarts) for step in range(max(steps - _MORE_RESTARTS, 1), steps)]
    while faults and time.monotonic() < deadline:
        # Small batches, so that the deadline is checked often.
        batch, faults = faults[:_BATCH], faults[_BATCH:]
        jobs = [(LearnJob((Schedule(reference.schedule.seed, found),)), runs) for found, runs in batch if found]
        for number, runs in [(pool.submit(job), runs) for job, runs in jobs]:
            reply = pool.wait(number)
            if reply is not None and isinstance(reply.result, Learned):
                # A run that did not end well shows nothing about end states.
                runs += [run for run in reply.result.runs if not run.problem and not run.workload_error]
    knowledge.late = lateness[0] if lateness else None
    if faults:
        lesson.notes.append("the budget was too short for all runs without faults: findings may be less certain")


def describe_failure(schedule: Schedule, reply: Reply) -> Finding:
    """Return the finding for a run whose process ended without a result."""
    summary, _, rest = reply.failure.partition("\n")
    # Blocking code is a matter of progress; anything that ends the process is an error.
    oracle = "not-converging" if "real time" in summary else "exceptions"
    details = [*rest.splitlines(), *(f"output: {line}" for line in reply.output.splitlines()[-10:] if not rest)]
    return Finding(oracle, summary.rstrip(":;"), schedule, details=details, subject="process")


def first_difference(run: RunResult, other: RunResult) -> str:
    """Return the first difference between the timelines of two runs, in words."""
    for entry, match in zip(run.entries, other.entries, strict=False):
        if entry != match:
            return f"{entry.text!r} at {entry.time:.3f} s, and {match.text!r} at {match.time:.3f} s"
    longer: Sequence[object] = max(run.entries, other.entries, key=len)
    return f"one run has {abs(len(run.entries) - len(other.entries))} more entries" if longer else ""


def _describe_state(first: RunResult, again: RunResult) -> list[str]:
    difference = first_difference(first, again)
    note = (
        "the operator keeps state between two runs in one process, in a module, a class or a closure; a real restart "
        f"loses it, a restart here does not. First difference: {difference}. Create such state in make_app"
    )
    return [note]


def _describe_threads(count: int) -> list[str]:
    if not count:
        return []
    plural = "s" if count > 1 else ""
    return [
        (
            f"the operator leaves {count} thread{plural} behind; what threads do cannot be repeated exactly, so that "
            "findings may not repeat"
        )
    ]
