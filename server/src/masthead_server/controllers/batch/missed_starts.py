"""Which start of a CronJob is due, and when to look again."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.resources.builtin.batch.cron_schedule import ScheduleError
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.controllers.batch.schedule_times import ScheduleTimes
    from masthead_server.wire.plain import Plain

__all__ = ["MissedStarts", "find_missed_starts", "seconds_to_next_start"]

_MAX_MISSED: Final = 100
"""More missed starts are reported."""
_PADDING: Final = timedelta(milliseconds=100)
"""How much later than its start a CronJob is reconciled, as in a cluster whose clocks differ a little."""
_SECOND: Final = timedelta(seconds=1)


class MissedStarts(NamedTuple):
    """The starts of a CronJob since the last one.

    Attributes:
        since: Since when starts count.
        latest: The last start that is due; None for none.
        missed: About how many are due.
    """

    since: datetime
    latest: datetime | None
    missed: int

    @property
    def is_excessive(self) -> bool:
        """Whether there are so many that they are reported."""
        return self.missed > _MAX_MISSED


def find_missed_starts(cron_job: Plain, now: datetime, times: ScheduleTimes, deadline: int | None) -> MissedStarts:
    """Find the starts of a CronJob that are due.

    Args:
        cron_job: The CronJob.
        now: The time.
        times: The times of its schedule.
        deadline: Seconds after which starts do not count any more; None for all since the last start.

    Raises:
        ScheduleError: If the schedule never comes.
    """
    since = datetime.fromisoformat(
        text(part(cron_job, "status"), "lastScheduleTime") or text(metadata(cron_job), "creationTimestamp")
    )
    if deadline is not None:
        since = max(since, now - deadline * _SECOND)
    first = times.next(since)
    if first is not None and now < first:
        return MissedStarts(since, None, 0)
    second = times.next(first) if first is not None else None
    if first is not None and second is not None and now < second:
        return MissedStarts(since, first, 1)
    if first is None or second is None or second - first < _SECOND:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    # As if all starts were as far from each other as the first two: kube-controller-manager does not count them either.
    interval = second - first
    count = (now - first) // interval + 1
    return MissedStarts(since, times.last(first + (count - 2) * interval, now), count)


def seconds_to_next_start(cron_job: Plain, now: datetime, times: ScheduleTimes) -> float | None:
    """Return the seconds until a CronJob is to be reconciled for its next start; None if it has none."""
    try:
        found = find_missed_starts(cron_job, now, times, None)
    except ScheduleError:
        last: datetime = now
    else:
        last = found.latest or (now if found.missed else found.since)
    following = times.next(last)
    return None if following is None else (following + _PADDING - now).total_seconds()
