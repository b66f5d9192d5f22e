"""Times: how timestamps and durations are written, and their parts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead._cel.declarations import Function, Overload, function, method
from masthead._cel.errors import EvaluationError
from masthead._cel.types import DURATION, INT, STRING, TIMESTAMP
from masthead._cel.values import Duration, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FUNCTIONS", "parse_timestamp"]

_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})\Z"
)
_OFFSET: Final = re.compile(r"([+-]?[0-9]{1,9}):([+-]?[0-9]{1,9})\Z")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str) -> Timestamp | None:
    """Read a point in time of RFC 3339.

    Returns:
        The point in time; None if the text is invalid.

    Raises:
        EvaluationError: If the year in UTC is not one of 1 to 9999.
    """
    match = _TIMESTAMP.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[index]) for index in range(1, 7))
    # The offset is remembered: the timestamp prints in its own zone.
    offset = _zone_seconds(match[8])
    if offset is None:
        return None
    try:
        # Year 0 is valid where it lies in year 1 of UTC; datetime knows no year 0.
        date = datetime(year or 4, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    seconds = int((date - _EPOCH).total_seconds()) - offset
    if year == 0:
        seconds -= int((datetime(4, 1, 1, tzinfo=UTC) - datetime(1, 1, 1, tzinfo=UTC)).total_seconds()) + 366 * 86400
    # Further digits are cut off, not rounded.
    nanos = int((match[7] or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds, nanos, offset)


def _zone_seconds(text: str) -> int | None:
    if text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:6])
    # Go accepts 24 and 60 as well.
    if hours > 24 or minutes > 60:
        return None
    return (-1 if text[0] == "-" else 1) * (hours * 60 + minutes) * 60


def _offset_at(zone: str, when: Timestamp) -> int:
    """The seconds east of UTC of a time zone, by its name or as ``+02:00``."""
    if ":" in zone:
        match = _OFFSET.match(zone)
        if match is None:
            hours = zone.partition(":")[0]
            raise EvaluationError(f'strconv.Atoi: parsing "{hours}": invalid syntax')
        # The sign applies to the minutes, too: -00:30.
        sign = -1 if zone.startswith("-") else 1
        return (int(match[1]) * 60 + sign * int(match[2])) * 60
    if zone in {"", "UTC"}:
        return 0
    try:
        offset = (_EPOCH + timedelta(seconds=when.seconds)).astimezone(ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        raise EvaluationError(f"unknown time zone {zone}") from None
    return int(offset.total_seconds()) if offset else 0


def _local(when: Timestamp, zone: str) -> datetime:
    try:
        return when.date(_offset_at(zone, when))
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


def _parts(name: str, part: Callable[[datetime, Timestamp], int], *more: Overload) -> Function:
    def in_utc(when: Timestamp) -> int:
        return part(_local(when, "UTC"), when)

    def in_zone(when: Timestamp, zone: str) -> int:
        return part(_local(when, zone), when)

    identifier = _IDS[name]
    return function(
        name,
        method(f"timestamp_to_{identifier}", (TIMESTAMP,), INT, in_utc),
        method(f"timestamp_to_{identifier}_with_tz", (TIMESTAMP, STRING), INT, in_zone),
        *more,
    )


_IDS: Final = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}


def _whole(nanos: int, unit: int) -> int:
    """Units towards zero."""
    # Toward zero, as Go divides; Python rounds down.
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


def _span(identifier: str, unit: int) -> Overload:
    def count(span: Duration) -> int:
        return _whole(span.nanos, unit)

    return method(f"duration_to_{identifier}", (DURATION,), INT, count)


FUNCTIONS: Final[tuple[Function, ...]] = (
    _parts("getFullYear", lambda date, _: date.year),
    _parts("getMonth", lambda date, _: date.month - 1),
    _parts("getDayOfYear", lambda date, _: date.timetuple().tm_yday - 1),
    _parts("getDayOfMonth", lambda date, _: date.day - 1),
    _parts("getDate", lambda date, _: date.day),
    _parts("getDayOfWeek", lambda date, _: date.isoweekday() % 7),
    _parts("getHours", lambda date, _: date.hour, _span("hours", 3600 * 10**9)),
    _parts("getMinutes", lambda date, _: date.minute, _span("minutes", 60 * 10**9)),
    _parts("getSeconds", lambda date, _: date.second, _span("seconds", 10**9)),
    _parts("getMilliseconds", lambda _, when: when.nanos // 10**6, _span("milliseconds", 10**6)),
)
