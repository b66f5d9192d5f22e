"""Validation of CronJobs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources.builtin.batch.cronjob.schedule import problem_with_schedule
from masthead_server.resources.builtin.batch.job.validation import spec_errors
from masthead_server.resources.validation.checks import not_negative, one_of, unsupported
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def cron_errors(cron_job: Plain) -> Errors:
    """Return the errors of a CronJob."""
    spec = part(cron_job, "spec")
    errors = _schedule_errors(spec)
    errors += not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    errors += _zone_errors(spec.get("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    errors += one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    job, path = part(part(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec"
    errors += spec_errors(job, path)
    if job.get("selector") is not None:
        errors.append(invalid(f"{path}.selector", job["selector"], "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(unsupported(f"{path}.manualSelector", True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += not_negative(f"spec.{field}", spec.get(field))
    return errors


_LONGEST_SCHEDULE: Final = 64 * 1024
"""Characters of a schedule that is read; kube-apiserver has no limit of its own."""


def _schedule_errors(spec: Plain) -> Errors:
    path, schedule = "spec.schedule", text(spec, "schedule")
    if not schedule:
        return [required(path)]
    if len(schedule) > _LONGEST_SCHEDULE:
        return [too_long(path, _LONGEST_SCHEDULE)]
    problem = problem_with_schedule(schedule)
    errors = [invalid(path, schedule, problem)] if problem else []
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
    steps = zone.split("/") if len(zone) <= _LONGEST_ZONE else [".."]
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
        ZoneInfo(zone)
    except IsADirectoryError:
        return "is a directory"
    except NotADirectoryError:
        return "not a directory"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {zone}"
    return ""


_LONGEST_ZONE: Final = 256
"""Characters of a zone's name; none has a quarter of it."""
