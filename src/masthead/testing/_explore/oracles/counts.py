"""Numbers of creations and deletions: objects that were lost on the way, and effects that were repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.testing._explore.faults import Crash, HandOver, HeldEvents, Restart
from masthead.testing._explore.oracles.end_state import compare_external
from masthead.testing._explore.reference import ChangeCounts, count_pod_deletions, count_rewrites

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.testing._explore.findings import Finding
    from masthead.testing._explore.oracles.case import Case
    from masthead.testing._explore.trace import ChangeRecord, WriteRecord

__all__ = ["find_losses", "find_repeated_effects", "find_summary_differences"]

_NOTHING: Final = ChangeCounts()
_JOBS: Final = "jobs.batch"
_PODS: Final = "pods"
_SECRETS: Final = "secrets"
_DELETIONS: Final = frozenset({"delete", "deletecollection"})


class _Loss(NamedTuple):
    """A deletion that does not happen without faults."""

    change: ChangeRecord
    key: str
    basis: str


def find_losses(case: Case) -> Iterator[Finding]:
    """Report objects that were deleted on the basis of an older state than the live one."""
    for loss in _losses(case):
        if loss.basis:
            change = loss.change
            summary = f"{change.resource} {change.key} was deleted although {loss.basis}"
            yield case.find("loss", summary, _explain(case, change), change.resource)
    yield from _find_rewrites(case)


def find_summary_differences(case: Case) -> Iterator[Finding]:
    """Report objects that were deleted more often than without faults, and effects that did not happen."""
    for loss in _losses(case):
        if not loss.basis:
            change, expected = loss.change, case.reference.highest.get((loss.change.resource, loss.key), _NOTHING)
            times = "never" if not expected.deleted else f"{expected.deleted} times"
            summary = f"{change.resource} {change.key} was deleted on the way; without faults, it is {times}"
            yield case.find("update-summary", summary, _explain(case, change), change.resource)
    yield from _find_skipped_effects(case)


def find_repeated_effects(case: Case) -> Iterator[Finding]:
    """Report Jobs, pods that run once, and calls of the external system that were made again."""
    for (resource, key), counts in case.counts.items():
        # The number may vary with the seed, so only a surplus over the highest one counts.
        expected = case.reference.highest.get((resource, key), _NOTHING)
        if counts.created <= expected.created or not _runs_once(case, resource, key):
            continue
        # The counts include creations that the garbage collector undid; this list does not.
        creations = list(_creations(case, resource, key))
        if len(creations) > expected.created and not case.rules.ignores_object(resource, key):
            details = [_describe_creation(change) for change in creations]
            summary = f"{resource} {key} was created {len(creations)} times instead of {expected.created}"
            yield case.find("repeated-effect", summary, details, resource)
    yield from _find_repeated_calls(case)


def _find_skipped_effects(case: Case) -> Iterator[Finding]:
    """Report Jobs that never ran, and pods that the operator did not replace."""
    # A fault that hides states may make an effect unnecessary, such as a Job for a superseded version.
    if not case.repeats_only or not case.is_complete:
        return
    # The lowest count is the safe bound: every run without faults had at least these effects.
    for (resource, key), expected in case.reference.lowest.items():
        counts = case.counts.get((resource, key), _NOTHING)
        if resource == _JOBS and counts.created < expected.created and not case.rules.ignores_object(resource, key):
            summary = f"{resource} {key} was created {counts.created} times instead of {expected.created}"
            yield case.find("update-summary", summary, subject=resource)
    deleted, expected_deletions = count_pod_deletions(case.result, case.names), case.reference.pod_deletions
    for key, times in expected_deletions.items():
        if deleted[key] < times and not case.rules.ignores_object(_PODS, key):
            summary = f"the operator deleted pods {key} {deleted[key]} times instead of {times}"
            yield case.find("update-summary", summary, subject=_PODS)


def _find_repeated_calls(case: Case) -> Iterator[Finding]:
    reference = case.reference
    if case.result.external is not None and not compare_external(case):
        # The call had no effect the second time.
        return
    for call, times in case.reference.calls_of(case.result).items():
        expected = reference.calls.get(call, 0)
        # Calls that repeat without faults are harmless: the operator makes them at each reconcile.
        if expected == 1 and times > 1 and call not in reference.free_calls:
            summary = f"the external call {call} was made {times} times instead of once"
            yield case.find("repeated-effect", summary, subject=call.partition("(")[0])


def _runs_once(case: Case, resource: str, key: str) -> bool:
    """Whether each object of a key is a separate effect."""
    if resource == _JOBS:
        # Otherwise built-in controllers make all Jobs, on a schedule that faults may shift.
        return any(change.client in case.replicas for change in case.result.changes if change.resource == _JOBS)
    # A stale operator may rightly create a pod for a state that has passed.
    if resource != _PODS or not case.repeats_only:
        return False
    # Surplus pods of a service are removed again; a pod that ends has run.
    return any(
        b'"restartPolicy":"Never"' in write.body.replace(b" ", b"")
        for write in case.result.writes
        if write.resource == _PODS
        and write.verb == "create"
        and case.names.key_of(_PODS, write.key) in {key, write.key}
    )


def _creations(case: Case, resource: str, key: str) -> Iterator[ChangeRecord]:
    """Yield the creations of an object, except for a deleted owner: the garbage collector undoes them immediately."""
    # Only creations from old data are excused: a collected object of a current owner is a real repetition.
    collected = {
        change.uid
        for change in case.result.changes
        if change.type == "DELETED"
        and change.client not in case.replicas | {"user"}
        and case.is_born_misled(change.uid)
    }
    for change in case.result.changes:
        is_creation = change.type == "ADDED" and change.resource == resource and change.uid not in collected
        if is_creation and case.names.key_of(resource, change.key) == key:
            yield change


def _describe_creation(change: ChangeRecord) -> str:
    by = f" by {change.client} ({change.reconcile})" if change.reconcile else ""
    return f"revision {change.revision}, step {change.step}: {change.resource} {change.key} is created{by}"


def _losses(case: Case) -> Iterator[_Loss]:
    """Yield the deletions beyond those of the reference, except of what exists because of the fault itself."""
    # The reference defines the expected deletions, so it cannot exceed them.
    if case.result is case.reference.run:
        return
    for identity, counts in case.counts.items():
        resource, key = identity
        expected = case.reference.highest.get(identity, _NOTHING)
        if counts.deleted <= expected.deleted or case.rules.ignores_object(resource, key):
            continue
        is_surplus_created = counts.created > expected.created
        deletions = list(_deletions(case, resource, key))
        # Objects that the operator makes on the basis of old data, and removes again, are no loss.
        lost = [change for change in deletions if not (is_surplus_created and case.is_born_misled(change.uid))]
        # Under a generated name, the replacement has the same common key: the pair is no loss.
        is_replaced = is_surplus_created and case.names.is_pattern(resource, key)
        excused = len(deletions) - len(lost)
        if lost and not is_replaced and counts.deleted - excused > expected.deleted:
            # The reference has some of these deletions: the one on the basis of old data is not among them.
            change = next((change for change in lost if _stale_basis_of(case, change)), lost[-1])
            yield _Loss(change, key, _stale_basis_of(case, change) or _describe_view(case))


def _deletions(case: Case, resource: str, key: str) -> Iterator[ChangeRecord]:
    for change in case.result.changes:
        # Users delete on purpose.
        is_deletion = change.type == "DELETED" and change.resource == resource and change.client != "user"
        if is_deletion and case.names.key_of(resource, change.key) == key:
            yield change


def _stale_basis_of(case: Case, change: ChangeRecord) -> str:
    """Return on which old state a deletion was based; empty if it was not."""
    write = _write_behind(case, change)
    if write is not None:
        seen, live = write.primary_seen, write.primary_live
        # A mere change of the status does not count: the decision to delete depends on identity and spec.
        if seen is not None and (seen.uid, seen.generation, seen.is_deleting) != (
            live.uid,
            live.generation,
            live.is_deleting,
        ):
            return _compare_views(write)
        # Version 0 means that the cache had no copy: the operator decided without one.
        if write.seen is not None and 0 < write.seen.version < write.live.version:
            return (
                f"the operator knew it at revision {write.seen.version} only, and it was at revision "
                f"{write.live.version}"
            )
    return ""


def _describe_view(case: Case) -> str:
    stale = [fault for fault in case.faults if isinstance(fault, HeldEvents) or _has_view(fault)]
    return "the operator saw an old state of the cluster" if stale else ""


def _has_view(fault: object) -> bool:
    return isinstance(fault, Crash | Restart | HandOver) and fault.view > 0


def _compare_views(write: WriteRecord) -> str:
    seen, live = write.primary_seen, write.primary_live
    assert seen is not None
    what = write.primary
    # From the strongest difference to the weakest: an absent object has neither uid nor generation.
    if not seen.version:
        return f"{what} exists, which the cache of the operator did not show"
    if not live.version:
        return f"the operator knew {what} at revision {seen.version}, and it does not exist any more"
    if seen.uid != live.uid:
        return f"the operator saw a former {what}, which was deleted and created anew"
    if seen.is_deleting != live.is_deleting:
        return f"{what} is {'not ' if seen.is_deleting else ''}being deleted, other than the operator saw"
    return f"the operator saw generation {seen.generation} of {what}, and the live one is {live.generation}"


def _write_behind(case: Case, change: ChangeRecord) -> WriteRecord | None:
    """Return the write that caused a deletion: of the object itself, or of one whose deletion includes it."""
    direct = [
        write
        for write in case.result.writes
        if write.verb in _DELETIONS
        and write.resource == change.resource
        # The key of a deletecollection is the namespace.
        and write.key in {change.key, change.key.rpartition("/")[0]}
        and write.revision < change.revision
    ]
    if direct:
        # The last deletion before the change is its cause; earlier ones struck former objects of that name.
        return direct[-1]
    # The garbage collector deletes children, so the operator's write struck an owner.
    owners = {uid for record in case.result.changes if record.uid == change.uid for uid in record.owners}
    indirect = [
        write
        for write in case.result.writes
        if write.verb in _DELETIONS and write.live.uid in owners and write.revision < change.revision
    ]
    return indirect[-1] if indirect else None


def _explain(case: Case, change: ChangeRecord) -> list[str]:
    by = f" by {change.client}" if change.client else ""
    lines = [f"revision {change.revision}, step {change.step}: {change.resource} {change.key} is deleted{by}"]
    write = _write_behind(case, change)
    if write is not None:
        lines.append(f"write {write.number}: {write}, in a reconcile of {write.primary or 'nothing'}")
    return lines


def _find_rewrites(case: Case) -> Iterator[Finding]:
    """Report random values, such as passwords, that were generated again for the same object."""
    # A copy follows its source, and the finding about the source covers it.
    derived = {copy for _, copy in case.reference.copies}
    for place, times in count_rewrites(case.result, case.names).items():
        if place in derived:
            continue
        expected = case.reference.rewrites.get(place, 0)
        # Texts other than secrets may follow from an old spec for a while.
        is_sound = place.resource == _SECRETS or case.repeats_only
        if times <= expected or not is_sound or not case.reference.is_masked(place.resource, place.path):
            continue
        if not case.rules.ignores_field(place.resource, place.key, place.path):
            summary = f"{place} was generated again: its former value, which may be in use, is lost"
            yield case.find("loss", summary, subject=place.resource)
