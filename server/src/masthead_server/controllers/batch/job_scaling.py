"""The next pods of a Job to create and to delete."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.batch.job_backoff import absolute_failures, remaining_delay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.batch.job_assessment import JobAssessment
    from masthead_server.controllers.batch.job_pods import JobPod
    from masthead_server.controllers.batch.job_spec import JobSpec

__all__ = ["PodPlan", "plan_pods"]

_BURST: Final = 500
"""The maximum number of pods to create or delete in one reconcile."""
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclass(slots=True)
class PodPlan:
    """The pods to delete or to create, never both in one reconcile.

    Attributes:
        delete: The pods to delete.
        create: The completion indexes of the pods to create; None for a pod without an index.
        delay: The seconds until a failed pod may be replaced; None if none waits.
    """

    delete: list[JobPod] = field(default_factory=list["JobPod"])
    create: list[int | None] = field(default_factory=list["int | None"])
    delay: float | None = None


def plan_pods(spec: JobSpec, found: JobAssessment, now: datetime) -> PodPlan:
    """Plan the pods of an unfinished Job."""
    active = found.active
    if spec.is_suspended:
        return PodPlan(delete=_choose_surplus(spec, active, len(active)))
    wanted = _count_wanted(spec, found.succeeded, len(active))
    surplus = _choose_surplus(spec, active, max(0, len(active) - wanted))
    if surplus:
        return PodPlan(delete=surplus[:_BURST])
    terminating = [pod for pod in found.pods if pod.is_terminating] if spec.replaces_only_failed else []
    lack = min(wanted - len(terminating) - len(active), _BURST)
    if lack <= 0:
        return PodPlan()
    if spec.per_index_limit is None:
        delay = remaining_delay(found.record.failures, found.record.last_failure, now)
        if delay > 0:
            return PodPlan(delay=delay)
    if not spec.is_indexed:
        return PodPlan(create=[None] * lack)
    return _plan_indexes(spec, found, [*active, *terminating], lack, now)


def _count_wanted(spec: JobSpec, succeeded: int, active: int) -> int:
    if spec.completions is None:
        # After the first success of a work queue, no further pod starts.
        return active if succeeded else spec.parallelism
    return max(0, min(spec.completions - succeeded, spec.parallelism))


def _plan_indexes(spec: JobSpec, found: JobAssessment, present: list[JobPod], lack: int, now: datetime) -> PodPlan:
    """Choose the lowest unfinished indexes without a pod; each has its own backoff."""
    taken = found.succeeded_indexes.with_indexes(pod.index for pod in present if pod.index is not None)
    if found.failed_indexes is not None:
        taken |= found.failed_indexes
    pending = list(islice(taken.missing(spec.completions or 0), lack))
    if spec.per_index_limit is None:
        return PodPlan(create=list(pending))
    delays = {index: _delay_of(found.replaced_later.get(index), now) for index in pending}
    due = [index for index, delay in delays.items() if delay <= 0]
    # Return this delay even when some pods are created: no later write is certain to trigger a reconcile.
    waiting = [delay for delay in delays.values() if delay > 0]
    return PodPlan(create=list(due), delay=min(waiting, default=None))


def _delay_of(replaced: JobPod | None, now: datetime) -> float:
    if replaced is None:
        return 0.0
    return remaining_delay(absolute_failures(replaced) + 1, replaced.finished_at, now)


def _choose_surplus(spec: JobSpec, active: list[JobPod], at_least: int) -> list[JobPod]:
    """Choose pods to delete: first without a valid index, then duplicates of an index, then by `_worth`."""
    surplus: list[JobPod] = []
    rest: list[JobPod] = active
    if spec.is_indexed:
        surplus = [pod for pod in active if spec.index_of(pod) is None]
        rest = []
        valid = sorted((pod for pod in active if spec.index_of(pod) is not None), key=lambda pod: pod.index or 0)
        for _, group in groupby(valid, key=lambda pod: pod.index):
            *duplicates, survivor = _sort_by_worth(group)
            surplus += duplicates
            rest.append(survivor)
    return surplus + _sort_by_worth(rest)[: max(0, at_least - len(surplus))]


def _sort_by_worth(pods: Iterable[JobPod]) -> list[JobPod]:
    """Sort pods by progress, unscheduled pods first, the youngest first among equals."""
    return sorted(pods, key=_worth)


def _worth(pod: JobPod) -> tuple[bool, int, bool, float, int, float, str]:
    ready = pod.condition("Ready") if pod.is_ready else None
    ready_since = _seconds(ready.last_transition_time) if ready is not None else 0.0
    restarts = max((container.restart_count for container in pod.status.container_statuses or ()), default=0)
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        ready is not None,
        -ready_since,
        -restarts,
        -_seconds(pod.metadata.creation_timestamp),
        pod.metadata.name,
    )


def _seconds(timestamp: str | None) -> float:
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
