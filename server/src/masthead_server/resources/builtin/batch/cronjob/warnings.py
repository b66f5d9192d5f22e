"""Warnings about CronJobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.resources.builtin.batch.job.warnings import job_spec_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def cron_job_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a CronJob."""
    spec = part(part(part(obj, "spec"), "jobTemplate"), "spec")
    return job_spec_warnings("spec.jobTemplate.spec", spec)
