"""Defects: findings that belong together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

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


def classify(schedule: Schedule) -> list[FaultClass]:
    """Return the classes of a schedule's faults: defects of one rule at one object in one class are the same."""
    return [_classify(fault) for fault in schedule.faults] or ["none"]


def _classify(fault: PlannedFault) -> FaultClass:
    match fault:
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
    """The defects of an exploration, in the order of their discovery."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, FaultClass], Finding] = {}
        self._without_faults: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found.values())

    def add_reference(self, findings: Iterable[Finding]) -> None:
        """Add what goes wrong without faults: it goes wrong with faults as well, and says nothing there."""
        for finding in findings:
            self.add(finding)
            self._without_faults.add((finding.oracle, finding.subject))

    def relevant(self, findings: Sequence[Finding]) -> Finding | None:
        """Return the clearest finding of a run that does not happen without faults; None if there is none."""
        return next((found for found in findings if (found.oracle, found.subject) not in self._without_faults), None)

    def count(self, finding: Finding) -> bool:
        """Count a finding of a known defect; return whether it is known."""
        for key in _keys(finding):
            if (known := self._found.get(key)) is not None:
                self._found[key] = replace(known, count=known.count + 1)
                return True
        return False

    def add(self, finding: Finding) -> None:
        """Add a finding, to its defect if that is known."""
        if not self.count(finding):
            self._found[_keys(finding)[0]] = finding


def _keys(finding: Finding) -> list[tuple[str, str, FaultClass]]:
    return [(finding.oracle, finding.subject, fault_class) for fault_class in classify(finding.schedule)]
