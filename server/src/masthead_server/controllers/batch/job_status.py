"""The status of a Job: pods are counted exactly once, by their finalizer and ``uncountedTerminatedPods``."""

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
    """The pods that can be counted now, and the end of the Job.

    Attributes:
        released: The pods whose finalizers are to be removed.
        terminal: The condition with which the Job ends once all pods are counted.
        is_complete: Whether all finished pods are part of it; otherwise the rest follows in the next step.
    """

    released: list[JobPod]
    terminal: JobVerdict | None
    is_complete: bool


def account(
    status: Plain, spec: JobSpec, found: JobAssessment, verdict: JobVerdict | None, now: str, *, is_deleted: bool
) -> Accounting:
    """Note in the status which pods are about to be counted.

    Args:
        status: The status, changed in place.
        spec: The spec.
        found: The assessment.
        verdict: Why the Job ends; None if it goes on.
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
    for pod in pods:
        if not pod.has_finalizer:
            continue
        if not (is_deleted or verdict is not None or pod.status.phase == "Succeeded"):
            if not spec.is_failed(pod):
                continue
            # Its replacement still has to copy its failure count.
            waiting = found.replaced_later.get(-1 if pod.index is None else pod.index)
            if waiting is not None and waiting.uid == pod.uid:
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
    """Count the uncounted pods that have lost their finalizer."""
    uncounted = part(status, "uncountedTerminatedPods")
    for name in ("succeeded", "failed"):
        uids: list[str] = uncounted.get(name) or []
        kept = [uid for uid in uids if uid in with_finalizer]
        if len(kept) != len(uids):
            set_count(status, name, status.get(name, 0) + len(uids) - len(kept))
            uncounted.pop(name)
            if kept:
                uncounted[name] = kept


def write_terminal(status: Plain, terminal: JobVerdict | None, now: str) -> bool:
    """Write the last condition of a Job, unless pods are uncounted or terminating; return whether it has ended."""
    uncounted = part(status, "uncountedTerminatedPods")
    if terminal is None or any(uncounted.values()) or status.get("terminating"):
        return False
    set_condition(status, terminal, "True", now)
    if terminal.type == "Complete":
        status["completionTime"] = now
    return True


def set_condition(status: Plain, wanted: JobVerdict, truth: str, now: str) -> bool:
    """Add or change a condition; return whether it changed. A condition that is missing does not become false."""
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
    """Set a counter; zero is not written."""
    if count:
        status[name] = count
    else:
        status.pop(name, None)


def _counts_as_failed(spec: JobSpec, pod: JobPod, verdict: JobVerdict | None) -> bool:
    # With the end of a Job, every pod that has not finished counts as failed.
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
    """Write the interim condition of a Job that ends; return its last condition."""
    if verdict is None:
        return None
    if verdict.type in {FAILURE_TARGET, SUCCESS_CRITERIA}:
        set_condition(status, verdict, "True", now)
    last = "Complete" if verdict.type == SUCCESS_CRITERIA else "Failed"
    return verdict._replace(type=last)
