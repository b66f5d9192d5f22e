"""Schedules of CronJobs: five fields, a name such as ``@daily``, or ``@every`` with a duration.

The syntax, its order of checks and its messages are those of the Go library that kube-apiserver reads schedules with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from masthead._meta.go_duration import UNITS, parse_duration

__all__ = ["ConstantDelay", "CronSchedule", "ScheduleError", "parse_schedule", "problem_with_schedule"]

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""The fields that the names stand for."""
_SECOND: Final = 10**9
_AMOUNT: Final = re.compile(r"([0-9]*+)(?:\.([0-9]*+))?+([^0-9.]*+)")
"""A number, its fraction and its unit."""
_MAX_NUMBER_LENGTH: Final = 19
"""Digits of the largest number of 64 bits."""


class ScheduleError(ValueError):
    """Why a schedule cannot be read."""


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A schedule of five fields: the values of each that match.

    Attributes:
        minutes: From 0 to 59.
        hours: From 0 to 23.
        days: Days of the month.
        months: From 1 to 12.
        weekdays: From 0, which is Sunday, to 6.
        needs_both_days: Whether a day must match both as a day of the month and as a weekday, because one of the two
            fields is open; otherwise one match is enough.
        zone: The time zone in the text of the schedule; empty for none.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    needs_both_days: bool
    zone: str = ""


@dataclass(frozen=True, slots=True)
class ConstantDelay:
    """A schedule of ``@every``.

    Attributes:
        seconds: From each time to the next; at least 1.
    """

    seconds: int


def problem_with_schedule(schedule: str) -> str:
    """Return why a schedule cannot be read; nothing if it can."""
    try:
        parse_schedule(schedule)
    except ScheduleError as problem:
        return str(problem)
    return ""


def parse_schedule(schedule: str) -> CronSchedule | ConstantDelay:
    """Read a schedule. The time zone in it may be unknown.

    Raises:
        ScheduleError: If it cannot be read.
    """
    zone = ""
    # Validation refuses a zone here, but objects that were stored by an older release may have one.
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, schedule = schedule.partition(" ")
        zone, schedule = prefix.partition("=")[2], schedule.strip()
    if schedule.startswith("@") and schedule not in _DESCRIPTORS:
        return _read_every(schedule)
    return _read_fields(_DESCRIPTORS.get(schedule, schedule).split(), zone)


def _read_every(descriptor: str) -> ConstantDelay:
    duration = descriptor.removeprefix("@every ")
    if duration == descriptor:
        raise ScheduleError(f"unrecognized descriptor: {descriptor}")
    try:
        nanoseconds = _read_duration(duration)
    except ScheduleError as problem:
        raise ScheduleError(f"failed to parse duration {descriptor}: time: {problem}") from None
    return ConstantDelay(max(nanoseconds // _SECOND, 1))


def _read_duration(duration: str) -> int:
    nanoseconds = parse_duration(duration)
    if nanoseconds is None:
        raise ScheduleError(_problem_with_duration(duration))
    return nanoseconds


def _problem_with_duration(duration: str) -> str:
    """Return Go's message about an invalid duration: the first problem from left to right."""
    unsigned, at = duration.removeprefix("-" if duration.startswith("-") else "+"), 0
    while at < len(unsigned):
        amount = _AMOUNT.match(unsigned, at)
        if amount is None or not (amount[1] or amount[2]) or len(amount[1].lstrip("0")) > _MAX_NUMBER_LENGTH:
            break
        if amount[3] not in UNITS:
            problem = f'unknown unit "{amount[3]}" in' if amount[3] else "missing unit in"
            return f'{problem} duration "{duration}"'
        at = amount.end()
    return f'invalid duration "{duration}"'


def _read_fields(fields: list[str], zone: str) -> CronSchedule:
    if len(fields) != len(_FIELDS):
        listed = " ".join(fields)
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{listed}]")
    found: list[frozenset[int]] = []
    has_star: list[bool] = []
    for field, (least, most, words) in zip(fields, _FIELDS, strict=True):
        values, is_open = set[int](), False
        for expression in field.split(","):
            # An empty one is skipped, as by Go's strings.FieldsFunc.
            if expression:
                matching, is_star = _read_range(expression, least, most, words)
                values.update(matching)
                is_open = is_open or is_star
        found.append(frozenset(values))
        has_star.append(is_open)
    minutes, hours, days, months, weekdays = found
    return CronSchedule(minutes, hours, days, months, weekdays, has_star[2] or has_star[4], zone)


def _read_range(expression: str, least: int, most: int, words: dict[str, int]) -> tuple[range, bool]:
    """Return the values of a range, and whether it is a star without steps."""
    # The checks stand in the order of the Go library, because the first problem is the message.
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    is_star = low in {"*", "?"}
    if is_star:
        start, end = least, most
    else:
        start = _number(low, words)
        if len(highs) > 1:
            raise ScheduleError(f"too many hyphens: {expression}")
        end = _number(highs[0], words) if highs else start
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    # Steps have no names: "*/mon" is an error.
    step = _number(steps[0], {}) if steps else 1
    # "5/15" means from 5 up to the maximum, in steps of 15.
    if steps and not highs:
        end = most
    if start < least:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({least}): {expression}")
    if end > most:
        raise ScheduleError(f"end of range ({end}) above maximum ({most}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step), is_star and step == 1


def _number(text: str, words: dict[str, int]) -> int:
    known = words.get(text.lower())
    if known is not None:
        return known
    if not re.fullmatch(r"[-+]?\d+", text, re.ASCII):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    # The length is checked first, because Python refuses to convert very long numbers.
    if len(text.lstrip("+-").lstrip("0")) > _MAX_NUMBER_LENGTH or not -(2**63) <= int(text) < 2**63:
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    number = int(text)
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
