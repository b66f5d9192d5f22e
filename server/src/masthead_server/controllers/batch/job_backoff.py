"""The backoff before a failed pod is replaced: 10 seconds, doubled with each failure, up to 10 minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from masthead_server.controllers.batch.job_pods import JobPod

__all__ = [
    "FAILURE_COUNT",
    "IGNORED_COUNT",
    "FailureRecord",
    "absolute_failures",
    "index_failures",
    "remaining_delay",
    "update_record",
]

FAILURE_COUNT: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
_FIRST_SECONDS: Final = 10.0
_MAX_SECONDS: Final = 600.0
_MAX_EXPONENT: Final = 6
_MAX_INT32: Final = 2**31 - 1


class FailureRecord(NamedTuple):
    """The failures of a Job since its last success."""

    failures: int = 0
    last_failure: datetime | None = None


def update_record(record: FailureRecord, succeeded: Sequence[JobPod], failed: Sequence[JobPod]) -> FailureRecord:
    """Return the record, updated with newly finished pods."""
    ends = sorted(pod.finished_at for pod in failed)
    if not succeeded:
        return FailureRecord(record.failures + len(ends), ends[-1]) if ends else record
    # A success resets the backoff: only later failures count.
    last_success = max(pod.finished_at for pod in succeeded)
    later = [end for end in ends if end > last_success]
    return FailureRecord(len(later), later[-1] if later else None)


def remaining_delay(failures: int, last_failure: datetime | None, now: datetime) -> float:
    """Return the seconds until the next pod may be created."""
    if not failures or last_failure is None:
        return 0.0
    delay: float = min(_FIRST_SECONDS * 2 ** min(failures - 1, _MAX_EXPONENT), _MAX_SECONDS)
    return max(0.0, delay - (now - last_failure).total_seconds())


def index_failures(pod: JobPod, annotation: str = FAILURE_COUNT) -> int:
    """Return how many pods of the index had failed before this one, by its annotation."""
    written = pod.metadata.annotations.get(annotation, "")
    count = int(written) if written.isascii() and written.isdigit() else 0
    return count if count <= _MAX_INT32 else 0


def absolute_failures(pod: JobPod) -> int:
    """Return how many pods of the index had failed before this one, ignored failures included."""
    return index_failures(pod) + index_failures(pod, IGNORED_COUNT)
