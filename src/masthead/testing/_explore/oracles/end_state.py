"""End states: missing, surplus, different and undeletable objects."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead.testing._explore.canonical_state import Meanings, canonicalize, sort_text
from masthead.testing._explore.comparison import Difference, compare_states, compare_values, generalise
from masthead.testing._explore.oracles.late_state import drop_history
from masthead.testing._explore.random_values import EXTERNAL, is_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from masthead.testing._explore.canonical_state import CanonicalObject
    from masthead.testing._explore.comparison import ObjectDifference, Path
    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.oracles.case import Case

__all__ = [
    "compare_external",
    "find_dead_owners",
    "find_external_differences",
    "find_orphans",
    "find_state_differences",
    "find_stuck_finalizers",
    "find_unrecovered",
]

_MAX_LINES: Final = 12
_HISTORY: Final = re.compile(r"^(last|previous|prior)[A-Z_]|history|transition|events?$|log$", re.IGNORECASE)
_CALLS: Final = re.compile(r"(calls|requests|attempts)$", re.IGNORECASE)
_LOG: Final = re.compile(r"log|calls|history|events|requests|audit", re.IGNORECASE)
_SENT: Final = re.compile(r"sent|messages|mails|notifications|alerts", re.IGNORECASE)
_EVENT_COUNTERS: Final = re.compile(
    r"(restarts|retries|attempts|updates|syncs|reconciles|reconciliations|rotations|transitions|failures|runs|upgrades"
    r"|rollouts|changes|iterations|passes|revision)$",
    re.IGNORECASE,
)


def find_state_differences(case: Case) -> Iterator[Finding]:
    """Report objects that are missing or different at the end, or surplus ones of a living owner."""
    # A run that broke off has an arbitrary intermediate state.
    if not case.is_complete:
        return
    dead = {item.uid for item, _ in _dead_owners(case)}
    stuck = {item.uid for item in _stuck_objects(case)}
    for changed in _differences(case):
        item = changed.object
        # The other oracles of this module say more about these.
        if item.uid in stuck or (changed.kind == "extra" and (_is_orphan(case, item) or item.uid in dead)):
            continue
        # The dead-owner oracle reports the reference to the owner; all other fields count here.
        fields = [field for field in changed.fields if not (item.uid in dead and "ownerReferences" in field.path)]
        if changed.kind == "changed" and not fields:
            continue
        details = [str(field) for field in fields]
        yield case.find("end-state", _summarise(changed, details), details[:_MAX_LINES], item.resource)
    yield from _find_unequal_values(case)


def _summarise(changed: ObjectDifference, details: list[str]) -> str:
    if changed.kind == "missing":
        return f"{changed.object} does not exist at the end, but does without faults"
    if changed.kind == "extra":
        return f"{changed.object} exists at the end, but does not without faults"
    return f"{changed.object} differs at the end: {details[0]}"


def _find_unequal_values(case: Case) -> Iterator[Finding]:
    """Report copies of a random value that differ from it."""
    for pair in case.reference.copies:
        if not is_copy(case.state, case.external, pair):
            summary = f"{pair[0]} and {pair[1]} do not match at the end; without faults, they do"
            yield case.find("end-state", summary, subject=pair[0].resource)
            # A single pair is enough: a regenerated value disagrees with all its copies.
            return


def find_orphans(case: Case) -> Iterator[Finding]:
    """Report objects that outlive the object for which the operator made them."""
    if not case.is_complete:
        return
    for changed in _differences(case):
        item = changed.object
        # An object under deletion belongs to the stuck-finalizer oracle.
        if changed.kind == "extra" and not item.is_deleting and _is_orphan(case, item):
            created = next((change for change in case.result.changes if change.uid == item.uid), None)
            origin = f"created at revision {created.revision} in reconcile {created.reconcile}" if created else ""
            summary = f"{item} is left over: the object for which it was made is gone"
            yield case.find("orphans", summary, [origin] if origin else (), item.resource)


def find_stuck_finalizers(case: Case) -> Iterator[Finding]:
    """Report objects whose deletion never ends."""
    if not case.is_complete:
        return
    for item in _stuck_objects(case):
        metadata = item.content.get("metadata")
        finalizers = metadata.get("finalizers") if isinstance(metadata, dict) else None
        names = ", ".join(str(name) for name in finalizers) if isinstance(finalizers, list) else "none"
        summary = f"{item} is still being deleted at the end; its finalizers: {names}"
        yield case.find("stuck-finalizer", summary, subject=item.resource)


def _stuck_objects(case: Case) -> Iterator[CanonicalObject]:
    for item in case.state:
        if not item.is_deleting or item.is_derived or case.rules.ignores_object(item.resource, item.actual_key):
            continue
        # The workload itself may leave an object under deletion, with a finalizer that no controller serves.
        group = case.reference.state.objects.get((item.resource, item.key), ())
        if case.result is case.reference.run or not any(other.is_deleting for other in group):
            yield item


def find_dead_owners(case: Case) -> Iterator[Finding]:
    """Report living objects whose controller is a deleted object."""
    if not case.is_complete:
        return
    for item, owner in _dead_owners(case):
        summary = f"{item} lives, but belongs to {owner}: the garbage collector deletes it"
        yield case.find("dead-owner", summary, subject=item.resource)


def _dead_owners(case: Case) -> Iterable[tuple[CanonicalObject, str]]:
    deleted = {change.uid for change in case.result.changes if change.type == "DELETED"}
    meanings = Meanings(case.result.objects, case.result.changes, case.names)
    # The reference cannot excuse itself: a dead owner there is a finding.
    expected = frozenset[str]() if case.result is case.reference.run else _objects_of_the_dead(case)
    for item in case.state:
        if item.is_derived or item.is_deleting or not item.owners or f"{item.resource} {item.key}" in expected:
            continue
        # An unknown uid proves nothing: the record may not cover the owner's resource.
        dead = [uid for uid in item.owners if uid in deleted and not meanings.is_living(uid)]
        if dead and not case.rules.ignores_object(item.resource, item.actual_key):
            yield item, meanings.describe_uid(dead[0]).strip("<>")


def _objects_of_the_dead(case: Case) -> frozenset[str]:
    """Return the objects with dead owners that exist without faults, too."""
    deleted = {change.uid for change in case.reference.run.changes if change.type == "DELETED"}
    state = case.reference.state
    return frozenset(f"{item.resource} {item.key}" for item in state if deleted & set(item.owners))


def find_external_differences(case: Case) -> Iterator[Finding]:
    """Report a different state of the external system."""
    if not case.is_complete:
        return
    differences = compare_external(case)
    if differences:
        details = [str(difference) for difference in differences]
        summary = f"the external system differs at the end: {details[0]}"
        yield case.find("external-state", summary, details[:_MAX_LINES], EXTERNAL)


def compare_external(case: Case) -> list[Difference]:
    """Return the differences of the external system from the reference."""
    expected, late = case.reference.external_of(case.reference.run), case.late
    # A correct operator may end in the usual or in the late state, so a finding differs from both.
    as_late = None if late is None else {difference.path for difference in compare_values(late.external, case.external)}
    return [
        difference
        for difference in compare_values(expected, case.external)
        if (as_late is None or difference.path in as_late)
        and not case.reference.is_benign(EXTERNAL, difference)
        and not _is_log(case, difference)
        and not case.rules.ignores_field(EXTERNAL, "", difference.path)
    ]


def _is_log(case: Case, difference: Difference) -> bool:
    """Whether a field of the fake counts its calls, or lists the actions on the way to the same state."""
    names = [name for name in difference.path if not name.startswith("[")]
    # A counter of calls grows with every retry, which is no defect.
    if isinstance(difference.actual, int) and _CALLS.search(names[-1] if names else ""):
        return True
    is_list = difference.path[-1].startswith("[") or list in {type(difference.expected), type(difference.actual)}
    if not case.skips_states or not is_list:
        return False
    # A message about a state that the operator never saw is rightly missing; a surplus message is a defect.
    is_shorter = difference.actual is None
    return any(_LOG.search(name) or (is_shorter and _SENT.search(name)) for name in names)


def find_unrecovered(case: Case) -> Iterator[Finding]:
    """Report states that differ after steps that should lead to the same state."""
    states, rests = case.result.states, case.result.rests
    # The operator had not caught up at the end of each step, or some steps have no end of their own.
    if case.result.is_delayed:
        return
    for first, second in case.rules.recovers:
        # A state in which the operator has not caught up is not final.
        if max(first, second) > len(states) or case.delays_steps or case.result.problem:
            continue
        # Without one of these steps, another state follows.
        if not set(case.result.schedule.skipped).isdisjoint(range(first, second + 1)):
            continue
        before, after = (
            canonicalize(
                states[step - 1],
                # Later changes must not decide who wrote an object, or which owner is dead.
                [change for change in case.result.changes if change.revision <= rests[step - 1]],
                case.names,
                case.replicas,
            )
            for step in (first, second)
        )
        for changed in compare_states(before, after, _significance(case)):
            if not case.rules.ignores_object(changed.object.resource, changed.object.actual_key):
                details = [str(field) for field in changed.fields]
                text = details[0] if details else {"missing": "it is missing", "extra": "it is left over"}[changed.kind]
                summary = f"{changed.object} differs after step {second} from step {first}: {text}"
                yield case.find("recovers", summary, details[:_MAX_LINES], changed.object.resource)


def _differences(case: Case) -> list[ObjectDifference]:
    is_significant = _significance(case)
    differences = [
        changed
        for changed in compare_states(case.reference.state, case.state, is_significant)
        if not case.rules.ignores_object(changed.object.resource, changed.object.actual_key)
    ]
    # History first: its fields would prevent the match of swapped values.
    return _drop_permutations(case, drop_history(case, differences, is_significant))


def _drop_permutations(case: Case, differences: list[ObjectDifference]) -> list[ObjectDifference]:
    """Leave out values that have merely changed places: who comes first may get the first port, say."""
    groups: dict[object, tuple[list[str], list[str]]] = {}
    for changed, field, places in _places(differences):
        # A second write shows that the operator moved a value afterwards, which no mere order causes.
        if _is_rewritten(case, changed.object):
            return differences
        for place in places:
            expected, actual = groups.setdefault((changed.object.resource, *place), ([], []))
            expected.append(sort_text(field.expected))
            actual.append(sort_text(field.actual))
    # Equal multisets: every value is in use as often as before, only by another object.
    swapped = {group for group, (expected, actual) in groups.items() if Counter(expected) == Counter(actual)}
    # By identity, because the contents of objects are dicts, which have no hash.
    kept: dict[int, list[Difference]] = {}
    for changed, field, places in _places(differences):
        if not any((changed.object.resource, *place) in swapped for place in places):
            kept.setdefault(id(changed), []).append(field)
    return [
        replace(changed, fields=kept.get(id(changed), ()))
        for changed in differences
        if changed.kind != "changed" or id(changed) in kept
    ]


def _is_rewritten(case: Case, item: CanonicalObject) -> bool:
    """Whether the operator has changed an object more often than without faults: it may have taken back a value."""
    identity = item.resource, item.key
    times = case.modifications.get(identity, 0)
    # Under another order, more writes are normal and prove nothing.
    return not case.reorders and times > case.reference.modifications.get(identity, 0)


def _places(
    differences: list[ObjectDifference],
) -> Iterator[tuple[ObjectDifference, Difference, tuple[tuple[str, Path], ...]]]:
    """Yield all fields, with the groups of fields whose values may change places: of all objects, or of one."""
    for changed in differences:
        for field in changed.fields:
            yield changed, field, (("", generalise(field.path)), (changed.object.key, field.path[:-1]))


def _significance(case: Case) -> Callable[[CanonicalObject, Difference], bool]:
    def is_significant(item: CanonicalObject, difference: Difference) -> bool:
        if case.reference.is_benign(item.resource, difference):
            return False
        # A message may tell what the last reconcile did, and no program reads it.
        if difference.path[0] == "status" and difference.path[-1] == "message":
            return False
        # Only faults that hide states change the history: a repeated reconcile must leave the same one.
        if case.skips_states and _is_history(difference):
            return False
        if _is_version(case, difference):
            return False
        return not case.rules.ignores_field(item.resource, item.actual_key, difference.path)

    return is_significant


def _is_version(case: Case, difference: Difference) -> bool:
    """Whether both values are the present resource version of the same object."""
    # An operator may store the version of a dependency, such as the ConfigMap of its last rollout.
    what = case.reference.state.versions.get(str(difference.expected))
    return what is not None and what == case.state.versions.get(str(difference.actual))


def _is_history(difference: Difference) -> bool:
    """Whether a field of a status tells how the state was reached: another way leaves another history."""
    path: Path = difference.path
    if path[0] != "status":
        return False
    if path[-1] == "reason" or any(_HISTORY.search(name) for name in path[1:]):
        return True
    # Only numbers: a text named revision, such as a Git commit, is part of the state.
    return isinstance(difference.actual, int) and bool(_EVENT_COUNTERS.search(path[-1]))


def _is_orphan(case: Case, item: CanonicalObject) -> bool:
    """Whether the operator made an object for a deleted one."""
    created = next((change for change in case.result.changes if change.uid == item.uid), None)
    if created is None or created.client not in case.replicas:
        return False
    living = {other.uid for other in case.state}
    # The garbage collector removes an object only when all owners are gone.
    if item.owners:
        return not living & set(item.owners)
    # Without an owner, it was made for the object of its reconcile.
    words = created.reconcile.split(" ")
    # The record of a reconcile names no resource, so any living object with its key counts as the owner.
    return len(words) == 3 and not any(
        words[1] in members for resource, members in case.result.objects.items() if resource in case.result.resources
    )
