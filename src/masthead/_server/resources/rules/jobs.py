"""Jobs, and cron jobs that make them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead._server.resources import names
from masthead._server.resources.builtin.batch.cronjob.schedule import problem_with_schedule
from masthead._server.resources.builtin.batch.job.status import job_status_errors
from masthead._server.resources.behavior import StrategyHooks
from masthead._server.resources.validation.checks import (
    IMMUTABLE,
    follows,
    immutable,
    known_or_nothing,
    label_selector,
    not_negative,
    one_of,
    same,
    shown_map,
    unsupported,
)
from masthead._server.resources.validation.internal_types import inner_pod_spec
from masthead._server.resources.validation.label_selectors import selects, shown_selector
from masthead._server.resources.validation.pod_spec import template_errors
from masthead._server.wire.failures import invalid, required, too_long
from masthead._server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead._server.resources.allocator import Allocator
    from masthead._server.resources.behavior import Errors
    from masthead._server.wire.plain import Plain

_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_INDEXED: Final = "requires indexed completion mode"
_NUMBERS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)


def _expected_labels(job: Plain) -> dict[str, str]:
    meta = metadata(job)
    return {
        **dict.fromkeys(_NAME_LABELS, text(meta, "name")),
        **dict.fromkeys(_UID_LABELS, text(meta, "uid")),
    }


def _prepare_job(job: Plain, _allocate: Allocator) -> None:
    """Have a job select its own pods, by labels that no other job's pods have."""
    spec = job["spec"]
    if spec.get("manualSelector"):
        return
    meta, own = metadata(spec["template"]), metadata(job)
    shares = own.get("labels") is not None and own.get("labels") is meta.get("labels")
    meta["labels"] = {**_expected_labels(job), **part(meta, "labels")}
    if shares:  # as the defaults made it
        own["labels"] = dict(meta["labels"])
    selector = part(spec, "selector")
    uid = {_UID_LABELS[1]: text(metadata(job), "uid")}
    selector["matchLabels"] = {**uid, **part(selector, "matchLabels")}
    spec["selector"] = selector


def _show_labels(job: Plain) -> None:
    own = metadata(job)
    labels = part(part(job["spec"]["template"], "metadata"), "labels")
    if labels and not own.get("labels"):
        own["labels"] = dict(labels)


def _generated_errors(job: Plain, *needed: str) -> Errors:
    """Check that the labels and the selector that the server generates are in place."""
    spec, expected = part(job, "spec"), _expected_labels(job)
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    errors: Errors = []
    labels = part(part(part(spec, "template"), "metadata"), "labels")
    for label in needed:
        path = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            errors.append(required(path, f"must be '{expected[label]}'"))
        elif labels[label] != expected[label]:
            errors.append(invalid(path, shown_map(labels), f"must be '{expected[label]}'"))
    if not selects(part(spec, "selector"), expected):
        errors.append(
            invalid("spec.selector", shown_selector(spec["selector"]), "`selector` not auto-generated")
        )
    return errors


_OLD_LABELS: Final = (_UID_LABELS[0], _NAME_LABELS[0])
_NEW_LABELS: Final = (_UID_LABELS[1], _NAME_LABELS[1])


def _job_errors(job: Plain) -> Errors:
    errors = _generated_errors(job, *_OLD_LABELS, *_NEW_LABELS)
    return errors + _whole_spec_errors(part(job, "spec"))


def _whole_spec_errors(spec: Plain) -> Errors:
    errors = _spec_errors(spec, "spec")
    selector = spec.get("selector")
    wrong = label_selector("spec.selector", selector or {})
    errors += [required("spec.selector")] if selector is None else wrong
    labels = part(part(spec, "template"), "metadata").get("labels")
    if selector is None or (not wrong and not selects(selector, labels or {})):
        why = "`selector` does not match template `labels`"
        errors.append(invalid("spec.template.metadata.labels", shown_map(labels), why))
    return errors


def _spec_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in _NUMBERS:
        errors += not_negative(f"{path}.{field}", spec.get(field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += _manager_errors(spec["managedBy"], f"{path}.managedBy")
    errors += _mode_errors(spec, path)
    policies = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    errors += known_or_nothing(f"{path}.podReplacementPolicy", spec.get("podReplacementPolicy"), policies)
    errors += template_errors(part(spec, "template"), f"{path}.template")
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


_PATH: Final = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"


def _manager_errors(manager: str, path: str) -> Errors:
    if not manager:
        return [required(path)]
    domain, _, rest = manager.partition("/")
    if not domain or not rest:
        return [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = follows(path, domain, names.SUBDOMAIN)
    if not re.fullmatch(_PATH, rest):
        errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')"))
    return [*errors, too_long(path, 63)] if len(manager) > 63 else errors


def _mode_errors(spec: Plain, path: str) -> Errors:
    mode, completions = spec.get("completionMode"), spec.get("completions")
    errors = known_or_nothing(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if completions is None:
            errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
        failed = spec.get("maxFailedIndexes")
        if completions is not None and failed is not None and failed > completions:
            why = "must be less than or equal to completions"
            errors.append(invalid(f"{path}.maxFailedIndexes", failed, why))
        return errors
    if mode in {None, "NonIndexed"}:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(field) is not None:
                errors.append(invalid(f"{path}.{field}", spec[field], _INDEXED))
    return errors


def _restart_errors(spec: Plain, path: str) -> Errors:
    policy = part(part(spec, "template"), "spec").get("restartPolicy")
    if policy in {None, "", "Always"}:
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in {"OnFailure", "Never"}:
        return [unsupported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _job_changes(new: Plain, old: Plain) -> Errors:
    after, before = part(new, "spec"), part(old, "spec")
    # The real server checks the job as a whole, and its spec once more.
    known = part(part(part(before, "template"), "metadata"), "labels")
    newer = _NEW_LABELS if all(label in known for label in _NEW_LABELS) else ()
    errors = _generated_errors(new, *_OLD_LABELS, *newer)
    errors += _whole_spec_errors(after) + _whole_spec_errors(after)
    if after.get("completionMode") != "Indexed":
        errors += immutable("spec.completions", after.get("completions"), before.get("completions"))
    elif after.get("completions") not in {before.get("completions"), after.get("parallelism")}:
        why = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", after.get("completions"), why))
    selectors = [shown_selector(each.get("selector")) for each in (after, before)]
    errors += immutable("spec.selector", *selectors)
    template = _fixed_template(after, before)
    if not same(template, before.get("template")):
        shown = {**part(template, "metadata"), "Spec": inner_pod_spec(part(template, "spec"))}
        errors.append(invalid("spec.template", shown, IMMUTABLE))
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += immutable(f"spec.{field}", after.get(field), before.get(field))
    return errors


_DIRECTIVES: Final = ("affinity", "nodeSelector", "tolerations", "schedulingGates")


def _fixed_template(after: Plain, before: Plain) -> Plain:
    """The new template without what a job that has not started yet may change: where its pods go."""
    template = part(after, "template")
    if not before.get("suspend"):
        return template
    known = part(before, "template")
    spec = {key: value for key, value in part(template, "spec").items() if key not in _DIRECTIVES}
    kept = {key: value for key, value in part(known, "spec").items() if key in _DIRECTIVES}
    return {**template, "metadata": known.get("metadata"), "spec": {**spec, **kept}}


def _cron_errors(cron_job: Plain) -> Errors:
    spec = part(cron_job, "spec")
    errors = _schedule_errors(spec)
    errors += not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    errors += _zone_errors(spec.get("timeZone"))
    policies = ("Allow", "Forbid", "Replace")
    errors += one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies)
    job, path = part(part(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec"
    errors += _spec_errors(job, path)
    if job.get("selector") is not None:
        errors.append(invalid(f"{path}.selector", job["selector"], "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(unsupported(f"{path}.manualSelector", True, ("nil", "false")))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += not_negative(f"spec.{field}", spec.get(field))
    return errors


_LONGEST_SCHEDULE: Final = 64 * 1024
"""Characters of a schedule that is read; the real server has no limit of its own."""


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
    if any(
        each in {".", ".."} or not re.fullmatch(r"[A-Za-z0-9._+][-A-Za-z0-9._+]*", each) for each in steps
    ):
        return unknown
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


RULES: Final = {
    "jobs": StrategyHooks(
        prepare_create=_prepare_job,
        validate_create=_job_errors,
        finish_create=_show_labels,
        validate_update=_job_changes,
        validate_status=job_status_errors,
    ),
    "cronjobs": StrategyHooks(validate_create=_cron_errors, validate_update=lambda new, _old: _cron_errors(new)),
}
