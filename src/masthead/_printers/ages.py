"""Ages and durations, in as few figures as kubectl shows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from masthead._meta.time import parse_time
from masthead.errors import TimeError

__all__ = ["age", "human_duration", "moment"]

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
_STEPS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Below how many seconds a duration has which unit, and which smaller one in addition, if any."""
_MAX_SECONDS: Final = (2**63 - 1) // 10**9
"""Seconds of Go's longest duration, at which its differences of times stop."""
_ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time, which means no time."""


def human_duration(seconds: float) -> str:
    """Format a duration in two or three figures: ``42s``, ``5m30s``, ``3h``, ``2d4h``, ``300d``, ``2y35d``.

    Clocks of two machines differ, so up to two seconds below zero count as zero; anything below is ``<invalid>``.
    """
    # The range of Go's duration.
    whole = int(max(-_MAX_SECONDS, min(_MAX_SECONDS, seconds)))
    if whole < -1:
        return "<invalid>"
    for limit, unit, sign, smaller, smaller_sign in _STEPS:
        # Each step prints fewer units than the one before, so that ages stay short.
        if whole < limit:
            count, rest = divmod(max(0, whole), unit)
            rest = rest // smaller if smaller else 0
            return f"{count}{sign}{rest}{smaller_sign}" if rest else f"{count}{sign}"
    return f"{whole // _YEAR}y"


def moment(timestamp: object) -> datetime | None:
    """Return the time of a timestamp; None if it is not set, or is not one."""
    if not isinstance(timestamp, str):
        return None
    try:
        found = parse_time(timestamp)
    except TimeError:
        return None
    return None if found == _ZERO else found


def age(timestamp: object, now: datetime) -> str:
    """Return how long ago a timestamp is; ``<unknown>`` if it is not set."""
    found = moment(timestamp)
    return "<unknown>" if found is None else human_duration((now - found).total_seconds())
