"""Schedules in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    HeldEvents,
    OtherKeyOrder,
    Restart,
    ServerRestart,
    SlowController,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.schedule import Schedule
    from masthead.testing._explore.trace import RunResult

__all__ = ["describe", "describe_schedule", "format_ordinal", "step_name"]

_SUFFIXES: Final = {1: "st", 2: "nd", 3: "rd"}
_CRASHES: Final = {
    "before": "before it sends",
    "stored": "after the server has stored",
    "answered": "after the response to",
}
_CHANGES: Final = {"ADDED": "creation", "MODIFIED": "change", "DELETED": "deletion"}
_ACTS: Final = {"ADDED": "create", "MODIFIED": "change", "DELETED": "delete"}
_MAX_ACTS: Final = 2
"""The maximum number of changes in the name of a step."""


def describe_schedule(schedule: Schedule, run: RunResult | None = None) -> list[str]:
    """Describe a schedule in sentences: its faults, and the steps that are left out."""
    lines = [describe(fault, run) for fault in schedule.faults] or ["this happens without any fault"]
    if schedule.steps:
        lines.append(f"the workload ends after step {schedule.steps}{_name(schedule.steps, run)}")
    if schedule.skipped:
        plural = "s" if len(schedule.skipped) > 1 else ""
        lines.append(f"step{plural} {', '.join(map(str, schedule.skipped))} of the workload left out")
    return lines


def describe(fault: PlannedFault, run: RunResult | None = None) -> str:
    """Describe a fault in a sentence.

    Args:
        fault: The fault.
        run: A run with the fault, which has the names of writes and steps; None for numbers alone.
    """
    if isinstance(fault, Crash | Answer | FailedRead | HandOver):
        return _describe_request(fault, run)
    if isinstance(fault, EarlyStep | Edit | ServerRestart):
        return _describe_disturbance(fault, run)
    return _describe_condition(fault, run)


def _describe_request(fault: Crash | Answer | FailedRead | HandOver, run: RunResult | None) -> str:
    match fault:
        case Crash():
            return _crash(fault, run)
        case Answer():
            return _answer(fault, run)
        case FailedRead(read=read, code=code):
            return f"{_read(read, run)} fails with {code}"
        case HandOver(write=write, view=view, resources=resources):
            stale = f"; the standby's caches show {_view(view, resources, run)}" if view else ""
            return f"the leader stands still before it sends {_write(write, run)}, until a standby leads{stale}"


def _describe_disturbance(fault: EarlyStep | Edit | ServerRestart, run: RunResult | None) -> str:
    if fault.write:
        point = f"before the operator sends {_write(fault.write, run)}"
    else:
        step = 0 if isinstance(fault, EarlyStep) else fault.step
        point = f"at the end of step {step}{_name(step, run)}"
    match fault:
        case EarlyStep():
            step = _step_of(fault.write, run) + 1
            begins = f"step {step}{_name(step, run)}" if step > 1 else "the next step of the workload"
            return f"{begins} begins {point}"
        case Edit(resource=resource, key=key):
            edited = f"{resource} {key}" if resource else "the object"
            return f"another client annotates {edited} {point}"
        case ServerRestart():
            return f"the API server restarts {point}"


def _describe_condition(
    fault: Restart | HeldEvents | Absence | OtherKeyOrder | SlowController, run: RunResult | None
) -> str:
    match fault:
        case Restart(step=step):
            rest = f"all is idle after step {step}{_name(step, run)}"
            return f"the operator is killed when {rest}, and is started again{_successor(fault, run, step)}"
        case HeldEvents():
            return _held(fault, run)
        case Absence():
            return _absence(fault, run)
        case OtherKeyOrder(order=order):
            return "keys are reconciled " + ("last in, first out" if order == "lifo" else "in a random order")
        case SlowController(controller=controller, seconds=seconds):
            return f"the built-in controller {controller} is {seconds:g} s late"


def step_name(step: int, run: RunResult | None) -> str:
    """Return the name of a step of the workload, or else what the user changes in it; empty if nothing is known."""
    if run is None:
        return ""
    texts = (entry.text for entry in run.entries if entry.kind == "step" and entry.step == step)
    name = next(texts, "").removeprefix(f"step {step}").lstrip(":. ")
    if name:
        return name
    acts = [
        f"{_ACTS.get(change.type, 'change')} {change.resource} {change.key}"
        for change in run.changes
        if change.step == step and change.client == "user"
    ]
    return ", ".join(acts[:_MAX_ACTS]) + (", …" if len(acts) > _MAX_ACTS else "")


def format_ordinal(number: int) -> str:
    """Return a number as ``1st``, ``2nd``, ``3rd``, ``4th``."""
    suffix = "th" if number % 100 in {11, 12, 13} else _SUFFIXES.get(number % 10, "th")
    return f"{number}{suffix}"


def _crash(fault: Crash, run: RunResult | None) -> str:
    if fault.write == 0:
        return f"the operator crashes at {_call(fault.call, run)}, and is started again{_successor(fault, run)}"
    point = f"{_CRASHES[fault.when]} {_write(fault.write, run)}"
    return f"the operator crashes {point}, and is started again{_successor(fault, run, _step_of(fault.write, run))}"


def _answer(fault: Answer, run: RunResult | None) -> str:
    write = _write(fault.write, run)
    again = "" if fault.times == 1 else f", {fault.times} times in a row"
    match fault.outcome:
        case "lost":
            return f"the server performs {write}, and its response is lost{again}"
        case "conflict":
            return f"{write} fails with a conflict (409){again}"
        case code:
            return f"{write} fails with {code}{again}"


def _held(fault: HeldEvents, run: RunResult | None) -> str:
    since = _first_hidden(fault.revision, (fault.resource,), run)
    held = f"watches of {fault.resource} send nothing after revision {fault.revision}{since}"
    until = f" until the end of step {fault.last}{_name(fault.last, run)}"
    lost = ", and then end with 410, so that the events in between are never seen" if fault.is_lost else ""
    return f"{held}{until}{lost}"


def _absence(fault: Absence, run: RunResult | None) -> str:
    if fault.first == fault.last:
        steps = f"step {fault.first}{_name(fault.first, run)}"
    else:
        steps = f"steps {fault.first} to {fault.last}"
    if fault.how == "down":
        return f"the operator is down during {steps}, and sees only the outcome"
    return f"the operator's workers are paused during {steps}, while its caches follow"


def _successor(fault: Crash | Restart, run: RunResult | None, step: int = 0) -> str:
    """Describe the stale view of a successor; empty if it has none."""
    if not fault.view:
        return ""
    last = fault.last or step
    until = f"until the end of step {last}" if last else "until the end of the step"
    return f"; {until}, its caches show {_view(fault.view, fault.resources, run)}"


def _view(revision: int, resources: Collection[str], run: RunResult | None) -> str:
    kinds = ", ".join(resources) or "everything"
    return f"{kinds} as of revision {revision}{_first_hidden(revision, resources, run)}"


def _first_hidden(revision: int, resources: Collection[str], run: RunResult | None) -> str:
    """Name the first change that a stale view hides, since revisions mean nothing to a reader."""
    changes = [] if run is None else run.changes
    hidden = (
        change for change in changes if change.revision > revision and (not resources or change.resource in resources)
    )
    change = next(hidden, None)
    if change is None:
        return ""
    place = f" in step {change.step}" if change.step else ""
    return f" (before the {_CHANGES.get(change.type, 'change')} of {change.resource} {change.key}{place})"


def _write(number: int, run: RunResult | None) -> str:
    found = next((write for write in run.writes if write.number == number), None) if run is not None else None
    if found is None:
        return f"its {format_ordinal(number)} write"
    return f"`{found.verb} {found.resource} {found.key}` (its {format_ordinal(number)} write)"


def _read(number: int, run: RunResult | None) -> str:
    found = next((read for read in run.reads if read.number == number), None) if run is not None else None
    ordinal = f"the operator's {format_ordinal(number)} live read"
    return ordinal if found is None else f"{ordinal}, `GET {found.target}`,"


def _call(number: int, run: RunResult | None) -> str:
    ordinal = f"its {format_ordinal(number)} call of the external system"
    if run is None or not 0 < number <= len(run.calls):
        return ordinal
    return f"{ordinal}, `{run.calls[number - 1]}`"


def _step_of(write: int, run: RunResult | None) -> int:
    return next((found.step for found in run.writes if found.number == write), 0) if run is not None else 0


def _name(step: int, run: RunResult | None) -> str:
    name = step_name(step, run)
    return f" ({name})" if name else ""
