"""Defects: findings that belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from masthead.testing._explore.describe import describe_schedule
from masthead.testing._explore.faults import (
    Absence,
    Answer,
    Crash,
    EarlyStep,
    Edit,
    FailedRead,
    HandOver,
    HeldEvents,
    Restart,
    ServerRestart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.schedule import Schedule

__all__ = ["Defects", "FaultClass", "classify"]

FaultClass: TypeAlias = Literal["none", "interrupted", "stale", "missed", "concurrent", "timing"]


def classify(schedule: Schedule) -> FaultClass:
    """Return the class of a schedule's faults; of several, of the first."""
    return _classify(schedule.faults[0]) if schedule.faults else "none"


def _classify(fault: PlannedFault) -> FaultClass:
    match fault:
        # First, because a stale view explains more than the interruption before it.
        case Crash(view=view) | Restart(view=view) | HandOver(view=view) if view:
            return "stale"
        case Crash() | ServerRestart() | HandOver() | FailedRead() | Restart() | Answer():
            return "interrupted"
        case HeldEvents():
            return "stale"
        case Absence():
            return "missed"
        case Edit() | EarlyStep():
            return "concurrent"
        case _:
            return "timing"


class Defects:
    """The defects of an exploration, in the order of their discovery: one for each rule and subject."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}
        self._classes: dict[tuple[str, str], set[FaultClass]] = {}
        self._without_faults: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def add_reference(self, findings: Iterable[Finding]) -> None:
        """Add findings of runs without faults: with faults, they are no news."""
        for finding in findings:
            self.add(finding)
            self._without_faults.add(_key(finding))

    def relevant(self, findings: Sequence[Finding]) -> Finding | None:
        """Return the clearest finding of a run that does not happen without faults, if any."""
        return next((found for found in findings if _key(found) not in self._without_faults), None)

    def count(self, finding: Finding) -> bool:
        """Count a finding of a known defect; return whether it is known.

        The first schedule with faults of another class is named: it may be easier to understand, or another cause.
        """
        key = _key(finding)
        known = self._found.get(key)
        if known is None:
            return False
        # One further schedule for each class: more would hide the difference.
        fault_class = classify(finding.schedule)
        details = list(known.details)
        if fault_class not in self._classes[key]:
            self._classes[key].add(fault_class)
            words = "; ".join(describe_schedule(finding.schedule, finding.run))
            # On a separate line, so that no report cuts the text that replays the schedule.
            details += [f"also with: {words}", f"  {finding.schedule}"]
        self._found[key] = replace(known, count=known.count + 1, details=details)
        return True

    def add(self, finding: Finding) -> None:
        """Add a finding, to its defect if that is known."""
        if not self.count(finding):
            self._found[_key(finding)] = finding
            self._classes[_key(finding)] = {classify(finding.schedule)}


def _key(finding: Finding) -> tuple[str, str]:
    # Without summary and schedule: one defect shows in many schedules, with different words.
    return finding.oracle, finding.subject
