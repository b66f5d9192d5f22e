"""CronJobs: defaults, schedules, validation and warnings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.batch.cron_schedule import problem_with_schedule
from masthead_server.resources.builtin.batch.job.defaults import JOB_INSIDE
from masthead_server.resources.builtin.batch.job.validation import spec_errors
from masthead_server.resources.builtin.batch.job.warnings import job_spec_warnings
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.validation.checks import not_negative, one_of, unsupported
from masthead_server.resources.validation.label_selectors import shown_selector
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
        shown = shown_selector(job["selector"])
        errors.append(invalid(f"{path}.selector", shown, "`selector` will be auto-generated"))
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


_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template")

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_from_new_template(*_TEMPLATE),
        prepare_update=dropped_from_template(*_TEMPLATE),
        validate_create=cron_errors,
        validate_update=lambda new, _old: cron_errors(new),
    ),
    warnings=WarningHooks(lambda new: name_warnings(new) + cron_job_warnings(new), when_changed(cron_job_warnings)),
)
