"""The TTL controller: deletes finished Jobs after their ``ttlSecondsAfterFinished``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.batch.job_spec import find_condition, finished_type
from masthead_server.controllers.objects import uid_of
from masthead_server.wire.plain import is_being_deleted, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient, ObjectRef

__all__ = ["ExpiredJobController"]

_TABLE: Final = "batch/jobs"


class ExpiredJobController:
    """Deletes expired Jobs in the foreground: their pods first."""

    observes = frozenset({_TABLE})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile Jobs with a TTL."""
        return (write.ref,) if b'"ttlSecondsAfterFinished"' in write.record.value else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Delete an expired Job; before that, return the remaining seconds.

        Raises:
            JournalError: The deletion could not be stored.
        """
        job = self._client.load(ref)
        if job is None or is_being_deleted(job):
            return None
        seconds = part(job, "spec").get("ttlSecondsAfterFinished")
        ended = find_condition(part(job, "status"), finished_type(job) or "Complete")
        if seconds is None or ended is None or not text(ended, "lastTransitionTime"):
            return None
        finished = datetime.fromisoformat(text(ended, "lastTransitionTime"))
        remaining: float = seconds - (self._client.cluster.clock.now() - finished).total_seconds()
        if remaining > 0:
            return remaining
        await self._client.delete(ref, uid_of(job), policy="Foreground")
        return None
