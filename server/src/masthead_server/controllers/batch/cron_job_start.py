"""The decision whether a CronJob starts a Job now, with the Events to record."""

from __future__ import annotations

from datetime import UTC
from email.utils import format_datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.clock import add_seconds
from masthead_server.controllers.batch.cron_job_template import job_name
from masthead_server.controllers.batch.missed_starts import find_missed_starts
from masthead_server.controllers.events import NORMAL, WARNING
from masthead_server.resources.builtin.batch.cron_schedule import ScheduleError
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from datetime import datetime

    from masthead_server.controllers.batch.cron_job_status import CronJobStatus
    from masthead_server.controllers.batch.schedule_times import ScheduleTimes
    from masthead_server.wire.plain import Plain

__all__ = ["StartDecision", "StartReport", "decide_start"]


class StartReport(NamedTuple):
    """Type, reason and message of an Event about a start."""

    type: str
    reason: str
    message: str


class StartDecision(NamedTuple):
    """Whether to start a Job, and the Events to record.

    Attributes:
        start: The scheduled time of the Job to create; None for no Job.
        reports: The Events to record, also without a start.
    """

    start: datetime | None
    reports: tuple[StartReport, ...]


_TOO_MANY: Final = StartReport(
    WARNING,
    "TooManyMissedTimes",
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
)
_ALREADY_ACTIVE: Final = StartReport(
    NORMAL,
    "JobAlreadyActive",
    "Not starting job because prior execution is running and concurrency policy is Forbid",
)


def decide_start(cron_job: Plain, status: CronJobStatus, now: datetime, times: ScheduleTimes) -> StartDecision:
    """Decide whether a scheduled time is due, and its Job may start.

    Args:
        cron_job: The CronJob, which is not suspended.
        status: Its active Jobs and its last start.
        now: The time.
        times: The times of its schedule.
    """
    spec = part(cron_job, "spec")
    deadline = spec.get("startingDeadlineSeconds")
    try:
        missed = find_missed_starts(cron_job, now, times, deadline)
    except ScheduleError as problem:
        message = f"invalid schedule: {text(spec, 'schedule')} : {problem}"
        return StartDecision(None, (StartReport(WARNING, "InvalidSchedule", message),))
    start = missed.latest
    if start is None:
        return StartDecision(None, ())
    reports = (_TOO_MANY,) if missed.is_excessive else ()
    if deadline is not None and add_seconds(start, deadline) < now:
        message = f"Missed scheduled time to start a job: {format_datetime(start.astimezone(UTC))}"
        return StartDecision(None, (*reports, StartReport(WARNING, "MissSchedule", message)))
    if status.is_started(job_name(cron_job, start), text(metadata(cron_job), "namespace"), start):
        return StartDecision(None, reports)
    if spec.get("concurrencyPolicy") == "Forbid" and status.active:
        return StartDecision(None, (*reports, _ALREADY_ACTIVE))
    return StartDecision(start, reports)
