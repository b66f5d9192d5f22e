"""Judges a run by all oracles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.testing._explore.oracles.case import Case
from masthead.testing._explore.oracles.conflicts import find_lost_updates, find_writes_without_lease
from masthead.testing._explore.oracles.counts import find_losses, find_repeated_effects, find_summary_differences
from masthead.testing._explore.oracles.end_state import (
    find_dead_owners,
    find_external_differences,
    find_orphans,
    find_state_differences,
    find_stuck_finalizers,
    find_unrecovered,
)
from masthead.testing._explore.oracles.progress import (
    find_exceptions,
    find_hot_loop,
    find_not_converging,
    find_violations,
    find_workload_errors,
)
from masthead.testing._explore.oracles.repetition import find_fights, find_later_changes
from masthead.testing._explore.oracles.rules import OracleRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.reference import ReferenceRuns
    from masthead.testing._explore.trace import RunResult

__all__ = ["judge", "judge_reference"]

_ORACLES: Final[Mapping[str, Callable[[Case], Iterator[Finding]]]] = {
    "not-converging": find_not_converging,
    "hot-loop": find_hot_loop,
    "exceptions": find_exceptions,
    "workload": find_workload_errors,
    "invariant": find_violations,
    "loss": find_losses,
    "repeated-effect": find_repeated_effects,
    "dead-owner": find_dead_owners,
    "stuck-finalizer": find_stuck_finalizers,
    "orphans": find_orphans,
    "end-state": find_state_differences,
    "external-state": find_external_differences,
    "update-summary": find_summary_differences,
    "lost-update": find_lost_updates,
    "lease": find_writes_without_lease,
    "fight": find_fights,
    "not-idempotent": find_later_changes,
    "recovers": find_unrecovered,
}
"""From the clearest findings to the vaguest."""


def judge(reference: ReferenceRuns, result: RunResult, rules: OracleRules | None = None) -> list[Finding]:
    """Return the findings of a run, the clearest first.

    Args:
        reference: What runs of the same steps do without faults.
        result: The run.
        rules: The rules; all oracles by default.
    """
    rules = rules or OracleRules()
    # All oracles share a case, because it caches the comparisons.
    case = Case(reference, result, rules)
    findings: list[Finding] = []
    for name, find in _ORACLES.items():
        # A restart that repairs a wrong end state is no further defect.
        if rules.is_on(name) and not (name == "not-idempotent" and findings):
            findings += (finding for finding in find(case) if not rules.ignores_finding(finding))
    return findings


def judge_reference(reference: ReferenceRuns, rules: OracleRules | None = None) -> list[Finding]:
    """Return the findings of a run without faults."""
    return judge(reference, reference.run, rules)
