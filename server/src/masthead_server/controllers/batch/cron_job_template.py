"""The Job that a CronJob creates for a scheduled time."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.wire.plain import Plain, metadata, part, text

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

__all__ = ["build_job", "job_name"]

_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def job_name(cron_job: Plain, start: datetime) -> str:
    """Return the Job's name. It depends on the scheduled time alone, so that a retry cannot start a second Job."""
    return f"{text(metadata(cron_job), 'name')}-{int(start.timestamp()) // 60}"


def build_job(cron_job: Plain, start: datetime, zone: tzinfo) -> Plain:
    """Build the Job of a scheduled time.

    Args:
        cron_job: The CronJob.
        start: The scheduled time.
        zone: The time zone of the annotation with the scheduled time.
    """
    template = part(part(cron_job, "spec"), "jobTemplate")
    described = part(template, "metadata")
    scheduled = start.astimezone(zone).isoformat(timespec="seconds").replace("+00:00", "Z")
    meta: Plain = {
        "name": job_name(cron_job, start),
        "annotations": {**part(described, "annotations"), _SCHEDULED: scheduled},
        "ownerReferences": [controller_reference(cron_job, "batch/v1", "CronJob")],
    }
    if labels := part(described, "labels"):
        meta["labels"] = dict(labels)
    return {"metadata": meta, "spec": deepcopy(part(template, "spec"))}
