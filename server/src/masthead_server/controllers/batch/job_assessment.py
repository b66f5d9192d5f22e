"""The assessment of a Job: its counts and indexes, and whether it fails or succeeds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.controllers.batch.completion_indexes import IndexSet, parse_indexes
from masthead_server.controllers.batch.job_backoff import absolute_failures, index_failures, update_record
from masthead_server.controllers.batch.job_spec import find_condition
from masthead_server.controllers.batch.pod_failure_policy import match_rule
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.controllers.batch.job_backoff import FailureRecord
    from masthead_server.controllers.batch.job_pods import JobPod
    from masthead_server.controllers.batch.job_spec import JobSpec
    from masthead_server.wire.plain import Plain

__all__ = ["FAILURE_TARGET", "SUCCESS_CRITERIA", "JobAssessment", "JobVerdict", "assess", "deadline_in"]

FAILURE_TARGET: Final = "FailureTarget"
SUCCESS_CRITERIA: Final = "SuccessCriteriaMet"


class JobVerdict(NamedTuple):
    """The condition that ends a Job: `FAILURE_TARGET`, `SUCCESS_CRITERIA`, or ``Failed`` once the first is set."""

    type: str
    reason: str
    message: str


@dataclass(slots=True)
class JobAssessment:
    """The state of a Job before the controller writes anything.

    Attributes:
        pods: Its pods.
        succeeded: The number of succeeded pods, or of succeeded indexes.
        succeeded_indexes: The succeeded indexes of an indexed Job.
        counted_indexes: The succeeded indexes in the stored status.
        failed_indexes: The failed indexes; None without ``backoffLimitPerIndex``.
        replaced_later: Failed pods by index; each remains until its replacement has copied its failure count.
        record: The failures since the last success.
        verdict: The condition that ends the Job; None while it continues.
    """

    pods: list[JobPod]
    succeeded: int
    record: FailureRecord
    verdict: JobVerdict | None
    succeeded_indexes: IndexSet
    counted_indexes: IndexSet
    failed_indexes: IndexSet | None
    replaced_later: dict[int, JobPod]

    @property
    def active(self) -> list[JobPod]:
        """Pods that are neither finished nor marked for deletion."""
        return [pod for pod in self.pods if pod.is_active]


def assess(job: Plain, spec: JobSpec, pods: list[JobPod], record: FailureRecord, now: datetime) -> JobAssessment:
    """Assess a Job by its status and its pods."""
    status = part(job, "status")
    uncounted = part(status, "uncountedTerminatedPods")
    known_good: set[str] = set(uncounted.get("succeeded") or ())
    known_bad: set[str] = set(uncounted.get("failed") or ())
    # The status already counts pods without the finalizer.
    fresh = [pod for pod in pods if pod.has_finalizer and spec.is_valid(pod)]
    new_good = [pod for pod in fresh if pod.status.phase == "Succeeded" and pod.uid not in known_good]
    new_bad = [pod for pod in fresh if spec.is_failed(pod) and pod.uid not in known_bad]
    counted_bad = sum(spec.is_counted(pod) for pod in new_bad)
    failed = status.get("failed", 0) + counted_bad + len(known_bad)
    found = JobAssessment(
        pods=pods,
        succeeded=status.get("succeeded", 0) + len(new_good) + len(known_good),
        record=update_record(record, new_good, new_bad),
        verdict=_judge(status, spec, pods, failed, now),
        succeeded_indexes=IndexSet(),
        counted_indexes=IndexSet(),
        failed_indexes=None,
        replaced_later={},
    )
    if spec.is_indexed:
        _assess_indexes(found, status, spec)
    return found


def deadline_in(status: Plain, spec: JobSpec, now: datetime) -> float | None:
    """Return the seconds until ``activeDeadlineSeconds`` end; None without a deadline, or while suspended."""
    started = text(status, "startTime")
    if spec.active_deadline is None or spec.is_suspended or not started:
        return None
    return spec.active_deadline - (now - datetime.fromisoformat(started)).total_seconds()


def _judge(status: Plain, spec: JobSpec, pods: list[JobPod], failed: int, now: datetime) -> JobVerdict | None:
    """Return the condition that ends a Job, indexes aside; a condition in the status takes precedence."""
    if met := find_condition(status, SUCCESS_CRITERIA):
        return JobVerdict(SUCCESS_CRITERIA, text(met, "reason"), text(met, "message"))
    if target := find_condition(status, FAILURE_TARGET):
        return JobVerdict("Failed", text(target, "reason"), text(target, "message"))
    for pod in pods if spec.failure_rules else ():
        matched = match_rule(spec.failure_rules or (), pod) if spec.is_failed(pod) else None
        if matched is not None and matched.action == "FailJob":
            return JobVerdict(FAILURE_TARGET, "PodFailurePolicy", matched.message)
    if failed > spec.backoff_limit or _exceeds_restarts(spec, pods):
        return JobVerdict(FAILURE_TARGET, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    left = deadline_in(status, spec, now)
    if left is not None and left <= 0:
        return JobVerdict(FAILURE_TARGET, "DeadlineExceeded", "Job was active longer than specified deadline")
    return None


def _exceeds_restarts(spec: JobSpec, pods: list[JobPod]) -> bool:
    """Whether container restarts have reached the backoff limit."""
    if not spec.restarts_containers:
        return False
    restarts: int = sum(
        container.restart_count
        for pod in pods
        if pod.status.phase in {"Running", "Pending"}
        for container in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    )
    # As in kube-controller-manager: a limit of 0 fails at the first restart, any other limit when it is reached.
    return restarts >= max(spec.backoff_limit, 1)


def _assess_indexes(found: JobAssessment, status: Plain, spec: JobSpec) -> None:
    completions = spec.completions or 0
    found.counted_indexes = parse_indexes(text(status, "completedIndexes"), completions)
    fresh = [(index, pod) for pod in found.pods if pod.has_finalizer and (index := spec.index_of(pod)) is not None]
    found.succeeded_indexes = found.counted_indexes.with_indexes(
        index for index, pod in fresh if pod.status.phase == "Succeeded"
    )
    found.succeeded = len(found.succeeded_indexes)
    if spec.per_index_limit is not None:
        before = parse_indexes(text(status, "failedIndexes"), completions)
        failed = before.with_indexes(index for index, pod in fresh if _fails_index(spec, pod))
        found.failed_indexes = failed
        found.verdict = found.verdict or _judge_indexes(spec, failed, found.succeeded)
        found.replaced_later = _find_replaced_later(found, spec, fresh)
    found.verdict = found.verdict or _judge_success(spec, found.succeeded_indexes)


def _fails_index(spec: JobSpec, pod: JobPod) -> bool:
    """Whether a failed pod fails its index."""
    if not spec.is_failed(pod):
        return False
    matched = match_rule(spec.failure_rules or (), pod)
    if matched is not None and matched.action == "FailIndex":
        return True
    return spec.is_counted(pod) and index_failures(pod) >= (spec.per_index_limit or 0)


def _judge_indexes(spec: JobSpec, failed: IndexSet, succeeded: int) -> JobVerdict | None:
    if spec.max_failed_indexes is not None and len(failed) > spec.max_failed_indexes:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return JobVerdict(FAILURE_TARGET, "MaxFailedIndexesExceeded", message)
    if len(failed) and len(failed) + succeeded >= (spec.completions or 0):
        return JobVerdict(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")
    return None


def _judge_success(spec: JobSpec, succeeded: IndexSet) -> JobVerdict | None:
    """Return the condition for the first rule of the success policy that the succeeded indexes meet."""
    for position, rule in enumerate(spec.success_rules if len(succeeded) else ()):
        count = rule.get("succeededCount")
        total = len(succeeded)
        is_met = False
        if rule.get("succeededIndexes") is not None:
            required = parse_indexes(text(rule, "succeededIndexes"), spec.completions or 0)
            if not len(required):
                continue
            total = required.count_common(succeeded)
            is_met = total == len(required)
        if is_met or (count is not None and total >= count):
            return JobVerdict(SUCCESS_CRITERIA, "SuccessPolicy", f"Matched rules at index {position}")
    return None


def _find_replaced_later(found: JobAssessment, spec: JobSpec, fresh: list[tuple[int, JobPod]]) -> dict[int, JobPod]:
    """Return the last failed pod of each index that needs a replacement."""
    active = {pod.index for pod in found.active}
    last: dict[int, JobPod] = {}
    for index, pod in fresh:
        if not spec.is_failed(pod) or index in found.succeeded_indexes or index in active:
            continue
        if found.failed_indexes is not None and index in found.failed_indexes:
            continue
        rival = last.get(index)
        if rival is None or _rank(rival) <= _rank(pod):
            last[index] = pod
    return last


def _rank(pod: JobPod) -> tuple[int, datetime]:
    return absolute_failures(pod), pod.finished_at
