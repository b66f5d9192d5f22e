"""A run under judgement, with what the oracles need to know about it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from masthead.testing._explore.canonical_state import replicas_of
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
from masthead.testing._explore.findings import Finding
from masthead.testing._explore.reference import count_changes, count_modifications

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead.testing._explore.canonical_state import CanonicalState, Value
    from masthead.testing._explore.faults import PlannedFault
    from masthead.testing._explore.names import Names
    from masthead.testing._explore.oracles.rules import OracleRules
    from masthead.testing._explore.reference import ChangeCounts, LateState, ReferenceRuns
    from masthead.testing._explore.trace import RunResult

__all__ = ["Case"]

_RELEASE: Final = "the caches catch up"
"""The entry of a run when its stale views end."""


class Case:
    """A run under judgement.

    Attributes:
        reference: What runs without faults do.
        result: The run.
        rules: The rules.
    """

    def __init__(self, reference: ReferenceRuns, result: RunResult, rules: OracleRules) -> None:
        self.reference: ReferenceRuns = reference
        self.result: RunResult = result
        self.rules: OracleRules = rules

    def find(self, oracle: str, summary: str, details: Sequence[str] = (), subject: str = "") -> Finding:
        """Return a finding about this run."""
        return Finding(oracle, summary, self.result.schedule, tuple(details), subject, self.result)

    @cached_property
    def names(self) -> Names:
        """The names that differ between runs."""
        return self.reference.names_of(self.result)

    @cached_property
    def replicas(self) -> frozenset[str]:
        """The names of the operator's replicas."""
        return replicas_of(self.result)

    @cached_property
    def state(self) -> CanonicalState:
        """The comparable end state."""
        return self.reference.state_of(self.result)

    @cached_property
    def external(self) -> Value:
        """The comparable state of the external system."""
        return self.reference.external_of(self.result)

    @cached_property
    def counts(self) -> Mapping[tuple[str, str], ChangeCounts]:
        """The numbers of changes of each object."""
        return count_changes(self.result, self.names)

    @cached_property
    def late(self) -> LateState | None:
        """The end state of an operator that comes late, if this one may not have seen all states."""
        # An operator that saw every state has no excuse for a result that depends on its history.
        return self.reference.late if self.skips_states or self.result.is_delayed else None

    @cached_property
    def modifications(self) -> Mapping[tuple[str, str], int]:
        """The numbers of modifications of each object by the operator."""
        return count_modifications(self.result, self.names)

    @cached_property
    def is_complete(self) -> bool:
        """Whether the run has come to its end, so that its end state can be compared."""
        return not self.result.problem and not self.result.workload_error

    @cached_property
    def faults(self) -> Sequence[PlannedFault]:
        """The faults that struck."""
        # A fault without effect excuses no difference.
        unhit = self.result.unhit
        return [fault for fault in self.result.schedule.faults if fault not in unhit]

    @cached_property
    def skips_states(self) -> bool:
        """Whether the operator may never see some states of the workload, or act on old ones."""
        # A slow built-in controller counts too: the user's next step may overtake the states that it produces.
        return any(
            isinstance(fault, Absence | HeldEvents | EarlyStep | SlowController) or _has_view(fault)
            for fault in self.faults
        )

    @cached_property
    def reorders(self) -> bool:
        """Whether the operator may see independent objects in another order."""
        # Another order of keys hides no state, so it excuses swapped values, but no missing history.
        return self.skips_states or any(isinstance(fault, OtherKeyOrder) for fault in self.faults)

    @cached_property
    def repeats_only(self) -> bool:
        """Whether all faults merely make the operator repeat what it did."""
        return all(
            isinstance(fault, Answer | FailedRead | ServerRestart | Edit)
            # A successor with a frozen view may act on objects that no longer exist, instead of repeating its work.
            or (isinstance(fault, Crash | Restart) and not fault.view)
            for fault in self.faults
        )

    @cached_property
    def is_kept_back(self) -> bool:
        """Whether the caches of the operator lagged behind until the run ended: it had no chance to come to rest."""
        # The entry of the release is missing if the run gave up before.
        is_stale = any(isinstance(fault, HeldEvents) or _has_view(fault) for fault in self.faults)
        return is_stale and not any(entry.text == _RELEASE for entry in self.result.entries)

    def is_born_misled(self, uid: str) -> bool:
        """Whether an object was created while the operator may have acted on old data."""
        # Unknown uids get revision 0: nothing excuses objects from before the record.
        return self._births.get(uid, 0) > self.misled_since

    @cached_property
    def _births(self) -> Mapping[str, int]:
        return {change.uid: change.revision for change in self.result.changes if change.type == "ADDED"}

    @cached_property
    def misled_since(self) -> float:
        """The revision since which the operator may act on old data without being wrong."""
        # Held events name their revision themselves; the other faults mislead from their strike on.
        revisions = [float(fault.revision) for fault in self.faults if isinstance(fault, HeldEvents)]
        if any(isinstance(fault, EarlyStep) or _has_view(fault) for fault in self.faults):
            revisions.append(self._strike_revision())
        # Infinity excuses no object: without such a fault, the operator always had current data.
        return min(revisions, default=float("inf"))

    def _strike_revision(self) -> int:
        """Return the revision of the server when the first fault struck."""
        revision = 0
        for entry in self.result.entries:
            # Only the first strike counts: an early bound excuses more objects, and avoids false alarms.
            if entry.kind == "fault":
                break
            # Entries of changes have revisions as their numbers.
            if entry.kind == "change":
                revision = entry.number
        return revision

    @cached_property
    def delays_steps(self) -> bool:
        """Whether steps may begin before the operator has caught up with the last one."""
        if self.result.is_delayed:
            return True
        # A view that ends with the step of its fault delays nothing.
        strike = next((entry.step for entry in self.result.entries if entry.kind == "fault"), 0)
        return any(
            isinstance(fault, Absence | HeldEvents | EarlyStep | SlowController)
            # A stale view that ends within the step of its fault delays no later step.
            or (isinstance(fault, Crash | Restart) and fault.view > 0 and fault.last > strike)
            for fault in self.faults
        )


def _has_view(fault: PlannedFault) -> bool:
    return isinstance(fault, Crash | Restart | HandOver) and fault.view > 0
