"""Defaults of CronJobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.batch.job.defaults import JOB_INSIDE
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

_CRON: Final = shape(
    blank={"concurrencyPolicy": "Allow"},
    unset={"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
    always={"jobTemplate": shape(always={"spec": shape(always={"template": TEMPLATE}, inside=JOB_INSIDE)})},
)
DEFAULTS: Final[Fill] = shape(always={"spec": _CRON})
