"""The times of a cron schedule in its time zone, also on days of 23 or 25 hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead_server.resources.builtin.batch.cron_schedule import ConstantDelay

if TYPE_CHECKING:
    from datetime import tzinfo

    from masthead_server.resources.builtin.batch.cron_schedule import CronSchedule

__all__ = ["ScheduleTimes", "load_zone"]

_MAX_YEARS: Final = 5
"""The search ends after so many years: February 30, for instance, never comes."""
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


def load_zone(name: str) -> tzinfo | None:
    """Return the time zone of this name, UTC for an empty one; None for an unknown name."""
    if not name or name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


class ScheduleTimes:
    """Finds the times of a schedule.

    Args:
        schedule: The schedule.
        zone: The time zone of its fields.
    """

    def __init__(self, schedule: CronSchedule | ConstantDelay, zone: tzinfo) -> None:
        self._schedule = schedule
        self._zone = zone

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after a moment, in UTC; None if the schedule has no time for years."""
        after = after.astimezone(UTC)
        if isinstance(self._schedule, ConstantDelay):
            return after.replace(microsecond=0) + timedelta(seconds=self._schedule.seconds)
        return _Search(self._schedule, self._zone).first_after(after)

    def last(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last time in an interval, which excludes its start; None if there is none."""
        first = self.next(after)
        if first is None or first > until:
            return None
        if isinstance(self._schedule, ConstantDelay):
            delay = timedelta(seconds=self._schedule.seconds)
            return first + (until - first) // delay * delay
        # Binary search, because stepping through all times would take too long: the next time after `low` is in the
        # interval, the next one after `high` is not.
        low, high = first - _MINUTE, until
        while high - low > _SECOND:
            middle = low + (high - low) / 2
            found = self.next(middle)
            if found is not None and found <= until:
                low, first = middle, found
            else:
                high = middle
        return first


class _Search:
    """The search for the next time, field by field: month, day, hour, minute.

    A field that does not match moves the time to the beginning of its next value. If that begins a new year, month, day
    or hour, the search starts again with the month.
    """

    def __init__(self, schedule: CronSchedule, zone: tzinfo) -> None:
        self._schedule = schedule
        self._zone = zone
        self._is_moved = False

    def first_after(self, after: datetime) -> datetime | None:
        now = after.replace(second=0, microsecond=0) + _MINUTE
        limit = self._local(now).year + _MAX_YEARS
        steps = (self._next_month, self._next_day, self._next_hour, self._next_minute)
        while self._local(now).year <= limit:
            for step in steps:
                now, is_complete = step(now)
                if not is_complete:
                    break
            else:
                return now
        return None

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone(self._zone)

    def _moment(self, wall: datetime) -> datetime:
        """Convert a local time to UTC; a time in a skipped hour moves to the hour before or after.

        The choice is that of Go's time package: it decides whether the search sees a day without midnight.
        """
        as_utc = wall.replace(tzinfo=UTC)
        offset = _offset(self._local(as_utc))
        if not offset:
            return as_utc
        return as_utc - _offset(self._local(as_utc - offset))

    def _cut(self, now: datetime, **fields: int) -> datetime:
        """Return the beginning of the current month, day or hour, once: later steps start at one."""
        if self._is_moved:
            return now
        self._is_moved = True
        return self._moment(self._local(now).replace(tzinfo=None, minute=0, **fields))

    def _next_month(self, now: datetime) -> tuple[datetime, bool]:
        while self._local(now).month not in self._schedule.months:
            wall = self._local(self._cut(now, day=1, hour=0)).replace(tzinfo=None, fold=0)
            # In a month without midnight on its first day, the beginning may be on the day before.
            following = (wall.replace(day=1) + 32 * _DAY).replace(day=1) + (wall.day - 1) * _DAY
            now = self._moment(following)
            if self._local(now).month == 1:
                return now, False
        return now, True

    def _next_day(self, now: datetime) -> tuple[datetime, bool]:
        while not self._is_day(self._local(now)):
            wall = self._local(self._cut(now, hour=0)).replace(tzinfo=None, fold=0)
            now = self._moment(wall + _DAY)
            # A day may begin at one o'clock.
            hour = self._local(now).hour
            if hour:
                now += (24 - hour if hour > 12 else -hour) * _HOUR
            if self._local(now).day == 1:
                return now, False
        return now, True

    def _next_hour(self, now: datetime) -> tuple[datetime, bool]:
        while self._local(now).hour not in self._schedule.hours:
            now = self._cut(now) + _HOUR
            if self._local(now).hour == 0:
                return now, False
        return now, True

    def _next_minute(self, now: datetime) -> tuple[datetime, bool]:
        while self._local(now).minute not in self._schedule.minutes:
            self._is_moved = True
            now += _MINUTE
            if self._local(now).minute == 0:
                return now, False
        return now, True

    def _is_day(self, local: datetime) -> bool:
        schedule = self._schedule
        is_day, is_weekday = local.day in schedule.days, local.isoweekday() % 7 in schedule.weekdays
        return is_day and is_weekday if schedule.needs_both_days else is_day or is_weekday


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta()
