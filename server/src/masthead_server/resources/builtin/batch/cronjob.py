"""CronJobs: defaults, schedules, validation and warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.batch.job.defaults import JOB_INSIDE
from masthead_server.resources.builtin.batch.job.validation import spec_errors
from masthead_server.resources.builtin.batch.job.warnings import job_spec_warnings
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.validation.checks import not_negative, one_of, unsupported
from masthead_server.resources.warnings.pod_controllers import name_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

_CRON: Final = shape(
    blank={"concurrencyPolicy": "Allow"},
    unset={"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
    always={"jobTemplate": shape(always={"spec": shape(always={"template": TEMPLATE}, inside=JOB_INSIDE)})},
)
DEFAULTS: Final[Fill] = shape(always={"spec": _CRON})

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""The units of a duration, in nanoseconds; there are two signs for micro."""
_AMOUNT: Final = re.compile(r"([0-9]*+)(?:\.([0-9]*+))?+([^0-9.]*+)")
"""A number, its fraction and its unit."""
_MAX_NUMBER_LENGTH: Final = 19
"""Digits of the largest number of 64 bits."""


class _Unreadable(Exception):  # noqa: N818 - it never leaves this module
    """The error of a schedule."""


def problem_with_schedule(schedule: str) -> str:
    """Return why a schedule cannot be read; nothing if it can."""
    text = schedule
    if text.startswith(("TZ=", "CRON_TZ=")):
        # Go's parser removes the zone first; `_schedule_errors` refuses it afterwards.
        text = text.partition(" ")[2].strip()
    try:
        if text.startswith("@"):
            _read_descriptor(text)
        else:
            _read_fields(text.split())
    except _Unreadable as problem:
        return str(problem)
    return ""


def _read_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    every, _, duration = text.partition("@every ")
    if every or not text.startswith("@every "):
        raise _Unreadable(f"unrecognized descriptor: {text}")
    if problem := _problem_with_duration(duration):
        raise _Unreadable(f"failed to parse duration {text}: time: {problem}")


def _problem_with_duration(duration: str) -> str:
    """Return what Go finds wrong with a duration, in one pass from left to right; nothing if it can be read."""
    # Go accepts a sign, and treats a bare 0 as a duration without a unit.
    unsigned = duration[1:] if duration[:1] in {"-", "+"} else duration
    if unsigned == "0":
        return ""
    total, at = 0, 0
    # An empty text is parsed, too, for Go's error.
    while at < len(unsigned) or not at:
        amount = _AMOUNT.match(unsigned, at)
        whole, fraction, unit = amount.groups(default="") if amount else ("", "", "")
        digits = whole.lstrip("0")
        if amount is None or not (whole or fraction) or len(digits) > _MAX_NUMBER_LENGTH:
            return f'invalid duration "{duration}"'
        if unit not in _UNITS:
            problem = f'unknown unit "{unit}" in' if unit else "missing unit in"
            return f'{problem} duration "{duration}"'
        total += int(digits or "0") * _UNITS[unit]
        # Go counts nanoseconds in an int64.
        if total >= 2**63:
            return f'invalid duration "{duration}"'
        at = amount.end()
    return ""


def _read_fields(fields: list[str]) -> None:
    if len(fields) != len(_FIELDS):
        listed = " ".join(fields)
        raise _Unreadable(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{listed}]")
    for field, (least, most, words) in zip(fields, _FIELDS, strict=True):
        for expression in field.split(","):
            # An empty one is skipped, as by Go's strings.FieldsFunc.
            if expression:
                _read_range(expression, least, most, words)


def _read_range(expression: str, least: int, most: int, words: dict[str, int]) -> None:
    # The checks stand in the order of the Go library, because the first problem is the message.
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    if low in {"*", "?"}:
        start, end = least, most
    else:
        start = _number(low, words)
        if len(highs) > 1:
            raise _Unreadable(f"too many hyphens: {expression}")
        end = _number(highs[0], words) if highs else start
    if len(steps) > 1:
        raise _Unreadable(f"too many slashes: {expression}")
    # Steps have no names: "*/mon" is an error.
    step = _number(steps[0], {}) if steps else 1
    # "5/15" means from 5 up to the maximum, in steps of 15.
    if steps and not highs:
        end = most
    if start < least:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({least}): {expression}")
    if end > most:
        raise _Unreadable(f"end of range ({end}) above maximum ({most}): {expression}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _Unreadable(f"step of range should be a positive number: {expression}")


def _number(text: str, words: dict[str, int]) -> int:
    known = words.get(text.lower())
    if known is not None:
        return known
    if not re.fullmatch(r"[-+]?\d+", text, re.ASCII):
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    # The length is checked first, because Python refuses to convert very long numbers.
    if len(text.lstrip("+-").lstrip("0")) > _MAX_NUMBER_LENGTH or not -(2**63) <= int(text) < 2**63:
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    number = int(text)
    if number < 0:
        raise _Unreadable(f"negative number ({number}) not allowed: {text}")
    return number


def cron_errors(cron_job: Plain) -> Errors:
    """Return the errors of a CronJob."""
    spec = part(cron_job, "spec")
    errors = _schedule_errors(spec)
    errors += not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    errors += _zone_errors(spec.get("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    errors += one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    # The template is validated like the spec of a Job, which the controller will create from it.
    job, path = part(part(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec"
    errors += spec_errors(job, path)
    if job.get("selector") is not None:
        # The controller derives selector and labels of every job from its UID, which does not exist yet.
        errors.append(invalid(f"{path}.selector", job["selector"], "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(unsupported(f"{path}.manualSelector", True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += not_negative(f"spec.{field}", spec.get(field))
    return errors


_MAX_SCHEDULE_LENGTH: Final = 64 * 1024
"""Length limit of a schedule; kube-apiserver has none."""


def _schedule_errors(spec: Plain) -> Errors:
    path, schedule = "spec.schedule", text(spec, "schedule")
    if not schedule:
        return [required(path)]
    if len(schedule) > _MAX_SCHEDULE_LENGTH:
        return [too_long(path, _MAX_SCHEDULE_LENGTH)]
    problem = problem_with_schedule(schedule)
    errors = [invalid(path, schedule, problem)] if problem else []
    # Anywhere in the text, as in kube-apiserver, so that no way to write the zone is missed.
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid(path, schedule, why))
    return errors


def _zone_errors(zone: object) -> Errors:
    path = "spec.timeZone"
    if not isinstance(zone, str):
        return []
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    unknown = [invalid(path, zone, f"unknown time zone {zone}")]
    # An overlong name is refused before it reaches the file system.
    steps = zone.split("/") if len(zone) <= _MAX_ZONE_LENGTH else [".."]
    # A zone is a path below the zone database: nothing may lead out of it.
    if any(step in {".", ".."} or not re.fullmatch(r"[A-Za-z0-9._+][-A-Za-z0-9._+]*", step) for step in steps):
        return unknown
    # For Go, Local is the zone of the machine that runs the controller.
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [invalid(path, zone, why)]
    if ".." in zone:
        return [invalid(path, zone, "time: invalid location name")]
    problem = _problem_with_zone(zone)
    return [invalid(path, zone, problem)] if problem else []


def _problem_with_zone(zone: str) -> str:
    try:
        # The zone database of this machine decides, as it does for kube-apiserver.
        ZoneInfo(zone)
    # Go reads the file and reports its error; "America" alone is a folder.
    except IsADirectoryError:
        return "is a directory"
    except NotADirectoryError:
        return "not a directory"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {zone}"
    return ""


_MAX_ZONE_LENGTH: Final = 256
"""Characters of a zone's name; none has a quarter of it."""


def cron_job_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a CronJob."""
    spec = part(part(part(obj, "spec"), "jobTemplate"), "spec")
    return job_spec_warnings("spec.jobTemplate.spec", spec)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=cron_errors, validate_update=lambda new, _old: cron_errors(new)),
    warnings=WarningHooks(lambda new: name_warnings(new) + cron_job_warnings(new), when_changed(cron_job_warnings)),
)
