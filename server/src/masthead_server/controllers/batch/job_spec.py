"""The spec of a Job, parsed once for all decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.batch.pod_failure_policy import match_rule
from masthead_server.wire.plain import is_being_deleted, items, part, text

if TYPE_CHECKING:
    from masthead_server.controllers.batch.job_pods import JobPod
    from masthead_server.wire.plain import Plain

__all__ = ["JobSpec", "find_condition", "finished_type", "is_managed_elsewhere", "read_spec"]

_OWN_NAME: Final = "kubernetes.io/job-controller"
_FINISHED: Final = frozenset({"Complete", "Failed"})


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The parsed spec of a Job.

    Attributes:
        completions: The number of successes that complete the Job; None for a work queue.
        parallelism: The maximum number of active pods.
        backoff_limit: The number of failures after which the Job fails.
        per_index_limit: The same for an index; None without ``backoffLimitPerIndex``.
        max_failed_indexes: The number of indexes that may fail; None for all.
        active_deadline: Seconds from its start until it fails; None for no deadline.
        is_indexed: Whether its pods have completion indexes.
        is_suspended: Whether the Job must not have pods for now.
        replaces_only_failed: Whether a terminating pod is replaced only after it has failed.
        restarts_containers: Whether the restart policy is ``OnFailure``: failed containers restart within their pod.
        failure_rules: The rules of its pod failure policy; None for no policy.
        success_rules: The rules of its success policy.
    """

    completions: int | None
    parallelism: int
    backoff_limit: int
    per_index_limit: int | None
    max_failed_indexes: int | None
    active_deadline: int | None
    is_indexed: bool
    is_suspended: bool
    replaces_only_failed: bool
    restarts_containers: bool
    failure_rules: list[Plain] | None
    success_rules: list[Plain]

    def is_failed(self, pod: JobPod) -> bool:
        """Whether a pod counts as failed. A deleted pod may never reach the phase Failed."""
        if pod.status.phase == "Failed":
            return True
        return not self.replaces_only_failed and pod.is_marked and pod.status.phase != "Succeeded"

    def is_counted(self, pod: JobPod) -> bool:
        """Whether the failure of a pod counts towards the backoff limits."""
        matched = match_rule(self.failure_rules or (), pod)
        return matched is None or matched.action != "Ignore"

    def index_of(self, pod: JobPod) -> int | None:
        """Return the completion index of a pod; None if this Job has no such index."""
        index = pod.index
        return index if index is not None and index < (self.completions or 0) else None

    def is_valid(self, pod: JobPod) -> bool:
        """Whether a pod can be counted: a pod of an indexed Job needs a valid index."""
        return not self.is_indexed or self.index_of(pod) is not None


def read_spec(job: Plain) -> JobSpec:
    """Parse the spec of a Job with defaults."""
    spec = part(job, "spec")
    has_policy = spec.get("podFailurePolicy") is not None
    # A failure policy needs exit codes, which a terminating pod does not have yet. A Job that is being deleted releases
    # its pods before the garbage collector deletes them, so that they do not count.
    replaces_only_failed = has_policy or spec.get("podReplacementPolicy") == "Failed" or is_being_deleted(job)
    return JobSpec(
        completions=spec.get("completions"),
        parallelism=spec.get("parallelism", 1),
        backoff_limit=spec.get("backoffLimit", 6),
        per_index_limit=spec.get("backoffLimitPerIndex"),
        max_failed_indexes=spec.get("maxFailedIndexes"),
        active_deadline=spec.get("activeDeadlineSeconds"),
        is_indexed=spec.get("completionMode") == "Indexed",
        is_suspended=bool(spec.get("suspend")),
        replaces_only_failed=replaces_only_failed,
        restarts_containers=text(part(part(spec, "template"), "spec"), "restartPolicy") == "OnFailure",
        failure_rules=items(part(spec, "podFailurePolicy"), "rules") if has_policy else None,
        success_rules=items(part(spec, "successPolicy"), "rules"),
    )


def is_managed_elsewhere(job: Plain) -> bool:
    """Whether a Job's ``managedBy`` names another controller."""
    return (part(job, "spec").get("managedBy") or _OWN_NAME) != _OWN_NAME


def find_condition(status: Plain, of_type: str) -> Plain | None:
    """Return the condition of a type if it is true."""
    for condition in items(status, "conditions"):
        if condition.get("type") == of_type:
            return condition if condition.get("status") == "True" else None
    return None


def finished_type(job: Plain) -> str:
    """Return the condition of a finished Job, ``Complete`` or ``Failed``; empty for an unfinished one."""
    for condition in items(part(job, "status"), "conditions"):
        if condition.get("type") in _FINISHED and condition.get("status") == "True":
            return text(condition, "type")
    return ""
