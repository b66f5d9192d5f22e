"""The scheduled times that a CronJob missed, and the time of its next reconcile."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.clock import add_seconds
from masthead_server.resources.builtin.batch.cron_schedule import ScheduleError
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.controllers.batch.schedule_times import ScheduleTimes
    from masthead_server.wire.plain import Plain

__all__ = ["MissedStarts", "find_missed_starts", "seconds_to_next_start"]

_MAX_MISSED: Final = 100
"""The number of missed starts above which an Event reports them."""
_PADDING: Final = timedelta(milliseconds=100)
"""Delay between a scheduled time and the reconcile; kube-controller-manager allows for clock skew that way."""
_SECOND: Final = timedelta(seconds=1)


class MissedStarts(NamedTuple):
    """The scheduled times of a CronJob since its last start.

    Attributes:
        since: The start of the period.
        latest: The last scheduled time that is due; None if none is.
        missed: The approximate number of times that are due.
    """

    since: datetime
    latest: datetime | None
    missed: int

    @property
    def is_excessive(self) -> bool:
        """Whether an Event has to report the number of missed starts."""
        return self.missed > _MAX_MISSED


def find_missed_starts(cron_job: Plain, now: datetime, times: ScheduleTimes, deadline: int | None) -> MissedStarts:
    """Find the scheduled times of a CronJob that are due.

    Args:
        cron_job: The CronJob.
        now: The time.
        times: The times of its schedule.
        deadline: Seconds after which a start no longer counts; None for all since the last start.

    Raises:
        ScheduleError: If the schedule has no time.
    """
    since = datetime.fromisoformat(
        text(part(cron_job, "status"), "lastScheduleTime") or text(metadata(cron_job), "creationTimestamp")
    )
    if deadline is not None:
        since = max(since, add_seconds(now, -deadline))
    first = times.next(since)
    if first is not None and now < first:
        return MissedStarts(since, None, 0)
    second = times.next(first) if first is not None else None
    if first is not None and second is not None and now < second:
        return MissedStarts(since, first, 1)
    if first is None or second is None or second - first < _SECOND:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    # As in kube-controller-manager, an estimate: the interval between the first two times is taken for all.
    interval = second - first
    count = (now - first) // interval + 1
    return MissedStarts(since, times.last(first + (count - 2) * interval, now), count)


def seconds_to_next_start(cron_job: Plain, now: datetime, times: ScheduleTimes) -> float | None:
    """Return the seconds until the reconcile for the next scheduled time; None if there is none."""
    try:
        found = find_missed_starts(cron_job, now, times, None)
    except ScheduleError:
        last: datetime = now
    else:
        last = found.latest or (now if found.missed else found.since)
    following = times.next(last)
    return None if following is None else (following + _PADDING - now).total_seconds()
