"""Jobs and cron jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, integer, part, text
from masthead._printers.ages import age, human_duration, moment
from masthead._printers.formats import boolean, container_names_and_images, label_selector
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_WIDE: Final = (wide("Containers"), wide("Images"), wide("Selector"))


def _has_condition(obj: Plain, kind: str) -> bool:
    """Whether the first condition of a type is true."""
    for condition in entries(part(obj, "status"), "conditions"):
        if condition.get("type") == kind:
            return condition.get("status") == "True"
    return False


def _job_status(obj: Plain) -> str:
    if _has_condition(obj, "Complete"):
        return "Complete"
    if _has_condition(obj, "Failed"):
        return "Failed"
    if has(part(obj, "metadata"), "deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if _has_condition(obj, kind):
            return kind
    return "Running"


def _completions(obj: Plain) -> str:
    spec, succeeded = part(obj, "spec"), integer(part(obj, "status"), "succeeded")
    if has(spec, "completions"):
        return f"{succeeded}/{integer(spec, 'completions')}"
    parallelism = integer(spec, "parallelism")
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(obj: Plain, now: datetime) -> str:
    status = part(obj, "status")
    start, end = moment(status.get("startTime")), moment(status.get("completionTime"))
    return "" if start is None else human_duration(((end or now) - start).total_seconds())


def _job(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        _job_status(obj),
        _completions(obj),
        _duration(obj, now),
        age_of(obj, now),
        *container_names_and_images(part(spec, "template", "spec")),
        label_selector(spec, "selector"),
    ]


def _cron_job(obj: Plain, now: datetime) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    job_spec = part(spec, "jobTemplate", "spec")
    last = status.get("lastScheduleTime")
    time_zone = spec.get("timeZone")
    return [
        name_of(obj),
        text(spec, "schedule"),
        time_zone if isinstance(time_zone, str) else "<none>",
        boolean(spec.get("suspend")),
        len(entries(status, "active")),
        "<none>" if last is None else age(last, now),
        age_of(obj, now),
        *container_names_and_images(part(job_spec, "template", "spec")),
        label_selector(job_spec, "selector"),
    ]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("batch", "Job"): Printer((NAME, Column("Status"), Column("Completions"), Column("Duration"), AGE, *_WIDE), _job),
    ("batch", "CronJob"): Printer(
        (
            NAME,
            Column("Schedule"),
            Column("Timezone"),
            Column("Suspend", "boolean"),
            Column("Active", "integer"),
            Column("Last Schedule"),
            AGE,
            *_WIDE,
        ),
        _cron_job,
    ),
}
"""The printers, by group and kind."""
