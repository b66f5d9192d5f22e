"""The status of a Job. Finalizers and ``uncountedTerminatedPods`` let it count each pod exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.batch.completion_indexes import format_indexes
from masthead_server.controllers.batch.job_assessment import FAILURE_TARGET, SUCCESS_CRITERIA, JobVerdict
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Collection

    from masthead_server.controllers.batch.job_assessment import JobAssessment
    from masthead_server.controllers.batch.job_pods import JobPod
    from masthead_server.controllers.batch.job_spec import JobSpec
    from masthead_server.wire.plain import Plain

__all__ = ["Accounting", "account", "count_released", "set_condition", "set_count", "write_terminal"]

_MAX_UNCOUNTED: Final = 500


@dataclass(slots=True)
class Accounting:
    """The pods to count in this reconcile, and the end of the Job.

    Attributes:
        released: The pods to remove the finalizer from.
        terminal: The condition that ends the Job once all pods are counted.
        is_complete: Whether `released` has all finished pods; the next reconcile counts the others.
    """

    released: list[JobPod]
    terminal: JobVerdict | None
    is_complete: bool


def account(
    status: Plain, spec: JobSpec, found: JobAssessment, verdict: JobVerdict | None, now: str, *, is_deleted: bool
) -> Accounting:
    """List the pods in the status that lose their finalizer next, and are then counted.

    Args:
        status: The status, changed in place.
        spec: The spec.
        found: The assessment.
        verdict: The condition that ends the Job; None while it continues.
        now: The time for conditions.
        is_deleted: Whether the Job is being deleted.
    """
    with_finalizer = {pod.uid for pod in found.pods if pod.has_finalizer}
    known_bad: set[str] = set(part(status, "uncountedTerminatedPods").get("failed") or ())
    count_released(status, with_finalizer)
    released: list[JobPod] = []
    is_complete = True
    indexes = 0
    pods = sorted(found.pods, key=lambda pod: -1 if pod.index is None else pod.index) if spec.is_indexed else found.pods
    releases_all = is_deleted or verdict is not None
    for pod in pods:
        if not pod.has_finalizer or not (releases_all or _is_releasable(spec, found, pod)):
            continue
        released.append(pod)
        if pod.status.phase == "Succeeded" and pod.uid not in known_bad:
            if spec.is_indexed:
                index = spec.index_of(pod)
                indexes += index is not None and index not in found.counted_indexes
            else:
                _add_uncounted(status, "succeeded", pod.uid)
        elif _counts_as_failed(spec, pod, verdict):
            _add_uncounted(status, "failed", pod.uid)
        uncounted = part(status, "uncountedTerminatedPods")
        if indexes + sum(len(uids) for uids in uncounted.values()) >= _MAX_UNCOUNTED:
            is_complete = False
            break
    if spec.is_indexed:
        _write_indexes(status, found)
    return Accounting(released, _write_interim(status, verdict, now), is_complete)


def count_released(status: Plain, with_finalizer: Collection[str]) -> None:
    """Move uncounted pods without the finalizer to the counters."""
    uncounted = part(status, "uncountedTerminatedPods")
    for name in ("succeeded", "failed"):
        uids: list[str] = uncounted.get(name) or []
        remaining = [uid for uid in uids if uid in with_finalizer]
        if len(remaining) != len(uids):
            set_count(status, name, status.get(name, 0) + len(uids) - len(remaining))
            uncounted.pop(name)
            if remaining:
                uncounted[name] = remaining


def write_terminal(status: Plain, terminal: JobVerdict | None, now: str) -> bool:
    """Set the condition that ends a Job, unless pods are uncounted or terminating; return whether it is set."""
    uncounted = part(status, "uncountedTerminatedPods")
    if terminal is None or any(uncounted.values()) or status.get("terminating"):
        return False
    set_condition(status, terminal, "True", now)
    if terminal.type == "Complete":
        status["completionTime"] = now
    return True


def set_condition(status: Plain, wanted: JobVerdict, truth: str, now: str) -> bool:
    """Set a condition; return whether it changed. A missing condition is not added as False."""
    condition: Plain = {
        "type": wanted.type,
        "status": truth,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": wanted.reason,
        "message": wanted.message,
    }
    conditions = items(status, "conditions")
    for position, before in enumerate(conditions):
        if before.get("type") == wanted.type:
            compared = ("status", "reason", "message")
            if all(before.get(name, "") == condition[name] for name in compared):
                return False
            conditions[position] = condition
            status["conditions"] = conditions
            return True
    if truth == "False":
        return False
    status["conditions"] = [*conditions, condition]
    return True


def set_count(status: Plain, name: str, count: int) -> None:
    """Set a counter; drop it at zero."""
    if count:
        status[name] = count
    else:
        status.pop(name, None)


def _is_releasable(spec: JobSpec, found: JobAssessment, pod: JobPod) -> bool:
    if pod.status.phase == "Succeeded":
        return True
    # A failed pod remains until its replacement has copied its failure count.
    waiting = found.replaced_later.get(-1 if pod.index is None else pod.index)
    return spec.is_failed(pod) and (waiting is None or waiting.uid != pod.uid)


def _counts_as_failed(spec: JobSpec, pod: JobPod, verdict: JobVerdict | None) -> bool:
    # When a Job fails, its unfinished pods count as failed.
    is_failed = spec.is_failed(pod) or (verdict is not None and verdict.type != SUCCESS_CRITERIA)
    return is_failed and spec.is_valid(pod) and spec.is_counted(pod)


def _add_uncounted(status: Plain, name: str, uid: str) -> None:
    uncounted = part(status, "uncountedTerminatedPods")
    uids: list[str] = uncounted.get(name) or []
    if uid not in uids:
        uncounted[name] = [*uids, uid]


def _write_indexes(status: Plain, found: JobAssessment) -> None:
    set_count(status, "succeeded", len(found.succeeded_indexes))
    status.pop("completedIndexes", None)
    if written := format_indexes(found.succeeded_indexes):
        status["completedIndexes"] = written
    status.pop("failedIndexes", None)
    if found.failed_indexes is not None:
        status["failedIndexes"] = format_indexes(found.failed_indexes)


def _write_interim(status: Plain, verdict: JobVerdict | None, now: str) -> JobVerdict | None:
    """Set the interim condition of an ending Job; return its terminal condition."""
    if verdict is None:
        return None
    if verdict.type in {FAILURE_TARGET, SUCCESS_CRITERIA}:
        set_condition(status, verdict, "True", now)
    last = "Complete" if verdict.type == SUCCESS_CRITERIA else "Failed"
    return verdict._replace(type=last)
