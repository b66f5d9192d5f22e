"""The status of a CronJob during a reconcile, which writes it once, at the end."""

from __future__ import annotations

from copy import deepcopy
from datetime import datetime
from typing import TYPE_CHECKING

from masthead_server.clock import stamp
from masthead_server.controllers.batch.job_spec import find_condition
from masthead_server.controllers.objects import set_or_drop
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CronJobStatus"]


class CronJobStatus:
    """The active Jobs of a CronJob, its last start and its last success.

    Args:
        cron_job: The stored CronJob.
    """

    def __init__(self, cron_job: Plain) -> None:
        self._stored: Mapping[str, object] = part(cron_job, "status")
        self.content: Plain = deepcopy(part(cron_job, "status"))
        """The status to write."""

    @property
    def is_changed(self) -> bool:
        """Whether the status differs from the stored one."""
        return self.content != self._stored

    @property
    def active(self) -> list[Plain]:
        """The references to the active Jobs."""
        return items(self.content, "active")

    def has_active(self, uid: str) -> bool:
        """Whether the Job with this uid is active."""
        return any(reference.get("uid") == uid for reference in self.active)

    def drop_active(self, uid: str) -> None:
        """Remove the Job with this uid from the active Jobs."""
        set_or_drop(self.content, "active", [reference for reference in self.active if reference.get("uid") != uid])

    def add_start(self, reference: Plain, start: datetime) -> None:
        """Add a Job to the active ones, and record its scheduled time."""
        self.content["active"] = [*self.active, reference]
        self.content["lastScheduleTime"] = stamp(start)

    def is_started(self, name: str, namespace: str, start: datetime) -> bool:
        """Whether the Job of a scheduled time has started or is active."""
        if any(active.get("name") == name and active.get("namespace") == namespace for active in self.active):
            return True
        last = text(self.content, "lastScheduleTime")
        return bool(last) and datetime.fromisoformat(last) == start

    def note_success(self, job: Plain) -> None:
        """Record the completion time of a Job that completed, if it is the latest."""
        status = part(job, "status")
        completed, last = text(status, "completionTime"), text(self.content, "lastSuccessfulTime")
        if not completed or find_condition(status, "Complete") is None:
            return
        if not last or datetime.fromisoformat(completed) > datetime.fromisoformat(last):
            self.content["lastSuccessfulTime"] = completed
