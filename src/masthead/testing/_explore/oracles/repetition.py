"""Changes after a mere restart, and two parties that undo each other's changes."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.names import Names
    from masthead.testing._explore.oracles.case import Case
    from masthead.testing._explore.trace import ChangeRecord, RunResult

__all__ = ["find_fights", "find_later_changes"]

_CERTIFICATES: Final = frozenset(
    {
        "secrets",
        "customresourcedefinitions.apiextensions.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    }
)
"""Resources with the certificates of webhooks, which a manager renews."""
_MIN_TURNS: Final = 6
"""Turns of two controllers in a run without an end."""
_MANY_TURNS: Final = 20
"""Turns of two controllers in any run."""
_MAX_LINES: Final = 12


def find_later_changes(case: Case) -> Iterator[Finding]:
    """Report changes by an operator that was restarted after all was done."""
    result, reference = case.result, case.reference.run
    # Changes after the reference's restart are findings of the reference, not of the fault.
    expected = frozenset[tuple[str, str, str]]() if result is reference else _describe(reference, case.names)
    by_resource: dict[str, list[ChangeRecord]] = {}
    counting = {mask.resource for mask in case.reference.counters}
    # The last digests before the restart, because a write of equal content is harmless.
    digests = {change.uid: change.digest for change in result.changes}
    for change in result.later_changes:
        # A write that changes nothing but versions and times, or a counter, does no harm.
        is_equal = change.type == "MODIFIED" and (
            digests.get(change.uid) == change.digest or change.resource in counting
        )
        # Ignored changes count as well: the next change must meet its true predecessor.
        digests[change.uid] = change.digest
        # Certificates of webhooks are the work of the manager, outside of reconciles.
        is_certificate = not change.reconcile and change.resource in _CERTIFICATES
        if is_equal or is_certificate or change.client not in case.replicas:
            continue
        key = case.names.key_of(change.resource, change.key)
        # The reference does the same, and has its own finding.
        is_expected = (change.type, change.resource, key) in expected
        if not is_expected and not case.rules.ignores_object(change.resource, change.key):
            by_resource.setdefault(change.resource, []).append(change)
    # Objects of a resource share their cause, so they share a finding.
    for resource, changes in by_resource.items():
        first = changes[0]
        summary = (
            f"the operator is not idempotent: restarted when all was done, it changed {resource} {first.key} "
            f"({first.type.lower()})"
        )
        details = [f"{change.type} {change.resource} {change.key} ({change.reconcile})" for change in changes]
        yield case.find("not-idempotent", summary, details[:_MAX_LINES], resource)


def _describe(result: RunResult, names: Names) -> frozenset[tuple[str, str, str]]:
    return frozenset(
        (change.type, change.resource, names.key_of(change.resource, change.key)) for change in result.later_changes
    )


def find_fights(case: Case) -> Iterator[Finding]:
    """Report objects that two controllers or clients change in turns."""
    # A run without an end justifies early suspicion; a run that ends must have many turns.
    least = _MIN_TURNS if case.result.problem else _MANY_TURNS
    changes = [change for change in case.result.changes if change.type == "MODIFIED" and _author_of(change)]
    by_object: dict[tuple[str, str, int], list[ChangeRecord]] = {}
    for change in changes:
        # Per step, because a later step gives both authors a reason for another change.
        by_object.setdefault((change.resource, change.key, change.step), []).append(change)
    for (resource, key, step), members in by_object.items():
        turns = [author for author, _ in groupby(_author_of(change) for change in members)]
        # Only a fight that lasts until the end of the step counts.
        recent = turns[-least:]
        if len(turns) >= least and len(set(recent)) == 2 and all(first != second for first, second in pairwise(recent)):
            first, second = sorted(set(recent))
            if not case.rules.ignores_object(resource, key):
                summary = f"{first} and {second} change {resource} {key} in turns ({len(turns)} in step {step})"
                yield case.find("fight", summary, subject=resource)


def _author_of(change: ChangeRecord) -> str:
    # Two controllers of a replica can fight as well, so the client is not precise enough.
    controller = change.reconcile.partition(" ")[0]
    return f"controller {controller}" if controller else change.client
