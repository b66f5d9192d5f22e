"""Jobs, cron jobs, autoscalers and disruption budgets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from masthead.server.failures import forbidden, invalid, required
from masthead.server.kinds import names
from masthead.server.kinds.rules.base import KindRules
from masthead.server.kinds.rules.checks import (
    amount,
    each_of,
    immutable,
    known_or_nothing,
    label_selector,
    not_negative,
    one_of,
    unsupported,
    up_to_all,
    whole_or_percent,
)
from masthead.server.kinds.rules.cron import problem_with_schedule
from masthead.server.kinds.rules.podspecs import template_errors
from masthead.server.kinds.rules.selectors import selects
from masthead.server.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead.server.kinds.rules.allocator import Allocator
    from masthead.server.kinds.rules.base import Errors
    from masthead.server.plain import Plain

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
    meta = metadata(spec["template"])
    meta["labels"] = {**_expected_labels(job), **(meta.get("labels") or {})}
    selector = part(spec, "selector")
    uid = {_UID_LABELS[1]: text(metadata(job), "uid")}
    selector["matchLabels"] = {**uid, **part(selector, "matchLabels")}
    spec["selector"] = selector


def _generated_errors(job: Plain) -> Errors:
    spec, expected = part(job, "spec"), _expected_labels(job)
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    errors: Errors = []
    labels = part(part(part(spec, "template"), "metadata"), "labels")
    for label in (_UID_LABELS[0], _NAME_LABELS[0], _UID_LABELS[1], _NAME_LABELS[1]):
        path = "spec.template.metadata.labels"
        if label not in labels:
            errors.append(required(path, f"must be '{expected[label]}'"))
        elif labels[label] != expected[label]:
            errors.append(invalid(path, labels, f"must be '{expected[label]}'"))
    if not selects(part(spec, "selector"), expected):
        errors.append(invalid("spec.selector", spec["selector"], "`selector` not auto-generated"))
    return errors


def _job_errors(job: Plain) -> Errors:
    return _generated_errors(job) + _whole_spec_errors(part(job, "spec"))


def _whole_spec_errors(spec: Plain) -> Errors:
    errors = _spec_errors(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        return [*errors, required("spec.selector")]
    errors += label_selector("spec.selector", selector)
    labels = part(part(spec, "template"), "metadata").get("labels")
    if not selects(selector, labels or {}):
        path = "spec.template.metadata.labels"
        errors.append(invalid(path, labels, "`selector` does not match template `labels`"))
    return errors


def _spec_errors(spec: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in _NUMBERS:
        errors += not_negative(f"{path}.{field}", spec.get(field))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    errors += _mode_errors(spec, path)
    policies = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    errors += known_or_nothing(f"{path}.podReplacementPolicy", spec.get("podReplacementPolicy"), policies)
    errors += template_errors(part(spec, "template"), f"{path}.template")
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


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
    errors = _whole_spec_errors(after)
    if after.get("completionMode") != "Indexed":
        errors += immutable("spec.completions", after.get("completions"), before.get("completions"))
    elif after.get("completions") not in {before.get("completions"), after.get("parallelism")}:
        why = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", after.get("completions"), why))
    errors += immutable("spec.selector", after.get("selector"), before.get("selector"))
    errors += immutable("spec.template", _fixed_template(after, before), part(before, "template"))
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


def _schedule_errors(spec: Plain) -> Errors:
    path, schedule = "spec.schedule", text(spec, "schedule")
    if not schedule:
        return [required(path)]
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
    if any(not re.fullmatch(r"[A-Za-z0-9._+][-A-Za-z0-9._+]*", each) for each in zone.split("/")):
        return [invalid(path, zone, f"unknown time zone {zone}")]
    if zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [invalid(path, zone, why)]
    try:
        ZoneInfo(zone)
    except ZoneInfoNotFoundError:
        return [invalid(path, zone, f"unknown time zone {zone}")]
    return []


def _scaler_errors(scaler: Plain) -> Errors:
    spec = part(scaler, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    errors: Errors = []
    if least is not None and least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        why = "must be greater than or equal to `minReplicas`"
        errors.append(invalid("spec.maxReplicas", most, why))
    errors += _reference_errors(part(spec, "scaleTargetRef"), "spec.scaleTargetRef")
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is not None and percent < 1:
        path = "spec.metrics[0].resource.target.averageUtilization"
        errors.append(invalid(path, percent, "must be greater than 0"))
    for at, metric in each_of(spec, "metrics", "spec"):
        errors += _metric_errors(metric, at)
    for side in ("scaleUp", "scaleDown"):
        rules = part(spec, "behavior").get(side)
        if rules is not None:
            errors += _scaling_errors(rules, f"spec.behavior.{side}")
    return errors


def _reference_errors(reference: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in ("kind", "name"):
        value = text(reference, field)
        found = [invalid(f"{path}.{field}", value, each) for each in names.path_segment(value)]
        errors += found if value else [required(f"{path}.{field}")]
    return errors


_METRICS: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_BOTH: Final = "may not set both a target raw value and a target utilization"
_EITHER: Final = "must set either a target raw value or a target utilization"


def _metric_errors(metric: Plain, path: str) -> Errors:
    kind = text(metric, "type")
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in _METRICS:
        errors.append(unsupported(f"{path}.type", kind, sorted(_METRICS)))
    stated = [each for each in _METRICS.values() if metric.get(each) is not None]
    if stated:
        errors += _source_errors(stated[0], part(metric, stated[0]), f"{path}.{stated[0]}")
    if kind not in _METRICS:
        errors.append(unsupported(f"{path}.type", kind, sorted(_METRICS)))
    elif _METRICS[kind] not in stated:
        why = "must populate information for the given metric source"
        errors.append(required(f"{path}.{_METRICS[kind]}", why))
    if len(stated) != 1:
        why = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{each}", why) for each in stated if each != _METRICS.get(kind)]
    return errors


def _source_errors(kind: str, source: Plain, path: str) -> Errors:
    errors: Errors = []
    if kind in {"resource", "containerResource"}:
        if not source.get("name"):
            errors.append(required(f"{path}.name", "must specify a resource name"))
        if kind == "containerResource" and not source.get("container"):
            errors.append(required(f"{path}.container", "must specify a container"))
    elif not part(source, "metric").get("name"):
        errors.append(required(f"{path}.metric.name", "must specify a metric name"))
    target, path = part(source, "target"), f"{path}.target"
    errors += _target_errors(target, path)
    has = {each for each in ("value", "averageValue", "averageUtilization") if target.get(each) is not None}
    if kind in {"resource", "containerResource"}:
        if not has & {"averageUtilization", "averageValue"}:
            errors.append(required(f"{path}.averageUtilization", _EITHER))
        if {"averageUtilization", "averageValue"} <= has:
            errors.append(forbidden(f"{path}.averageValue", _BOTH))
    elif kind == "pods" and "averageValue" not in has:
        errors.append(required(f"{path}.averageValue", "must specify a positive target averageValue"))
    return errors


def _target_errors(target: Plain, path: str) -> Errors:
    kind = text(target, "type")
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in {"Utilization", "Value", "AverageValue"}:
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for field in ("value", "averageValue"):
        if target.get(field) is not None and amount(target[field]).sign <= 0:
            errors.append(invalid(f"{path}.{field}", target[field], "must be positive"))
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        errors.append(invalid(f"{path}.averageUtilization", share, "must be greater than 0"))
    return errors


def _scaling_errors(rules: Plain, path: str) -> Errors:
    errors: Errors = []
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        why = "must be greater than or equal to zero"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, why))
    if window is not None and window > 3600:
        why = "must be less than or equal to 3600"
        errors.append(invalid(f"{path}.stabilizationWindowSeconds", window, why))
    errors += known_or_nothing(f"{path}.selectPolicy", rules.get("selectPolicy"), ("Disabled", "Max", "Min"))
    if not rules.get("policies"):
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for at, policy in each_of(rules, "policies", path):
        if policy.get("type") not in {"Pods", "Percent"}:
            errors.append(unsupported(f"{at}.type", policy.get("type"), ("Percent", "Pods")))
        for field in ("value", "periodSeconds"):
            if (policy.get(field) or 0) <= 0:
                errors.append(invalid(f"{at}.{field}", policy.get(field) or 0, "must be greater than zero"))
        if (policy.get("periodSeconds") or 0) > 1800:
            why = "must be less than or equal to 1800"
            errors.append(invalid(f"{at}.periodSeconds", policy["periodSeconds"], why))
    return errors


def _budget_errors(budget: Plain) -> Errors:
    spec = part(budget, "spec")
    errors: Errors = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        errors.append(invalid("spec", _shown_budget(spec), why))
    for field in ("minAvailable", "maxUnavailable"):
        path, value = f"spec.{field}", spec.get(field)
        errors += whole_or_percent(path, value) + up_to_all(path, value)
    errors += label_selector("spec.selector", part(spec, "selector"))
    policies = ("AlwaysAllow", "IfHealthyBudget")
    policy = spec.get("unhealthyPodEvictionPolicy")
    return errors + known_or_nothing("spec.unhealthyPodEvictionPolicy", policy, policies)


def _shown_budget(spec: Plain) -> Plain:
    """A budget as the real server's message shows it, which is how it holds one inside."""
    fields = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {field[0].upper() + field[1:]: spec.get(field) for field in fields}


RULES: Final = {
    "jobs": KindRules(prepare_create=_prepare_job, validate_create=_job_errors, validate_update=_job_changes),
    "cronjobs": KindRules(validate_create=_cron_errors, validate_update=lambda new, _old: _cron_errors(new)),
    "horizontalpodautoscalers": KindRules(
        validate_create=_scaler_errors, validate_update=lambda new, _old: _scaler_errors(new)
    ),
    "poddisruptionbudgets": KindRules(
        validate_create=_budget_errors, validate_update=lambda new, _old: _budget_errors(new)
    ),
}
