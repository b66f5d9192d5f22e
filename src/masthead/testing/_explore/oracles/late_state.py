"""End states that depend on the way: of an operator that has not seen all states of the workload."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from masthead.testing._explore.comparison import compare_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead.testing._explore.canonical_state import CanonicalObject, CanonicalState
    from masthead.testing._explore.comparison import Difference, ObjectDifference, Path, Significance
    from masthead.testing._explore.oracles.case import Case

__all__ = ["drop_history"]


def drop_history(
    case: Case, differences: list[ObjectDifference], is_significant: Significance
) -> list[ObjectDifference]:
    """Leave out what a correct operator that comes late does not do either, such as a Job for each former version.

    An operator that saw the last state of the workload only tells what depends on the states in between.
    """
    if case.late is None:
        return differences
    judged = [_without_history(case, case.late.state, changed, is_significant) for changed in differences]
    return [changed for changed in judged if changed is not None]


def _without_history(
    case: Case, late: CanonicalState, changed: ObjectDifference, is_significant: Significance
) -> ObjectDifference | None:
    item = changed.object
    group = late.objects.get((item.resource, item.key), ())
    # Objects for former states only: a late operator has no reason to make them.
    if changed.kind == "missing":
        expected = case.reference.state.objects.get((item.resource, item.key), ())
        # Both must hold: a late operator does not make the object either, and its state of the workload has passed.
        return None if len(group) < len(expected) and _is_former(case, item) else changed
    matches = [_compare(other, item, is_significant) for other in group]
    # Exactly as after a late start.
    if any(not match for match in matches):
        return None
    # A surplus object has no field to excuse, and a change without a late counterpart has no excuse.
    if changed.kind == "extra" or not matches:
        return changed
    fields = [field for field in changed.fields if not _is_as_late(case, item, field, matches, late)]
    return replace(changed, fields=fields) if fields else None


def _compare(expected: CanonicalObject, item: CanonicalObject, is_significant: Significance) -> set[Path]:
    return {
        difference.path
        for difference in compare_values(expected.content, item.content)
        if is_significant(item, difference)
    }


def _is_as_late(
    case: Case, item: CanonicalObject, field: Difference, matches: Sequence[set[Path]], late: CanonicalState
) -> bool:
    """Whether a field is as after a late start, or belongs to a status that depends on the way."""
    if any(field.path not in match for match in matches):
        return True
    # Users rely on a spec; a status may tell its history.
    if field.path[0] != "status":
        return False
    identity = item.resource, item.key
    return any(
        field.path == difference.path
        for expected in case.reference.state.objects.get(identity, ())
        for other in late.objects.get(identity, ())
        for difference in compare_values(expected.content, other.content)
    )


def _is_former(case: Case, item: CanonicalObject) -> bool:
    """Whether the operator wrote an object for a former state of the workload only, without faults."""
    run = case.reference.run
    steps = [write.step for write in run.writes if write.resource == item.resource and write.key == item.actual_key]
    # Writes of generated names lack the full key, so creations count too.
    steps += [change.step for change in run.changes if change.uid == item.uid and change.type == "ADDED"]
    # An object of the last step belongs to the final state, which a late operator must produce as well.
    return max(steps, default=0) < len(run.rests)
