"""Validation of HorizontalPodAutoscalers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.checks import (
    amount,
    each_of,
    follows,
    known_or_nothing,
    not_negative_amount,
    unsupported,
)
from masthead_server.resources.validation.resource_requirements import container_name_errors
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain


def scaler_errors(scaler: Plain) -> Errors:
    """Return the errors of a HorizontalPodAutoscaler."""
    spec = part(scaler, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    errors: Errors = []
    # The gate HPAScaleToZero is off by default, so that zero replicas are refused.
    if least is not None and least < 1:
        errors.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    # Reported in addition to a missing maximum, as kube-apiserver does.
    if least is not None and most < least:
        why = "must be greater than or equal to `minReplicas`"
        errors.append(invalid("spec.maxReplicas", most, why))
    errors += _reference_errors(part(spec, "scaleTargetRef"), "spec.scaleTargetRef")
    errors += _target_version_errors(part(spec, "scaleTargetRef"))
    for at, metric in each_of(spec, "metrics", "spec"):
        errors += _metric_errors(metric, at)
    # Pods and resources have no values without replicas; only outside metrics can wake the target up.
    if least == 0 and not any(
        known_metric.get("type") in {"Object", "External"} for known_metric in items(spec, "metrics")
    ):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", why))
    for side in ("scaleUp", "scaleDown"):
        rules = part(spec, "behavior").get(side)
        if rules is not None:
            errors += _scaling_errors(rules, f"spec.behavior.{side}")
    return errors


_TARGET_VERSION: Final = "spec.scaleTargetRef.apiVersion"


def _target_version_errors(target: Plain) -> Errors:
    version = text(target, "apiVersion")
    if errors := _version_errors(version, _TARGET_VERSION):
        return errors
    # The core group has no other kind that can be scaled.
    if "/" in version or target.get("kind") == "ReplicationController":
        return []
    return [invalid(_TARGET_VERSION, version, "apiVersion must specify API group")]


def _version_errors(version: str, path: str) -> Errors:
    if version.count("/") > 1:
        return [invalid(path, version, f"unexpected GroupVersion string: {version}")]
    return []


def scaler_changes(new: Plain, old: Plain) -> Errors:
    """Validate a change; versions of targets that were let in stay so."""
    errors = scaler_errors(new)
    before, after = (part(part(state, "spec"), "scaleTargetRef") for state in (old, new))
    # Errors are computed for the whole object and dropped afterwards, so that their order stays.
    ignored: set[str] = set()
    # An unchanged target keeps a version that was accepted before this check existed.
    if all(text(before, field) == text(after, field) for field in ("apiVersion", "kind")):
        ignored.add(_TARGET_VERSION)
    if any(map(_has_odd_version, items(part(old, "spec"), "metrics"))):
        count = len(items(part(new, "spec"), "metrics"))
        ignored |= {f"spec.metrics[{index}].object.describedObject.apiVersion" for index in range(count)}
    return [error for error in errors if error.field not in ignored]


def _has_odd_version(metric: Plain) -> bool:
    described = part(part(metric, "object"), "describedObject")
    return metric.get("type") == "Object" and bool(_version_errors(text(described, "apiVersion"), ""))


def _reference_errors(reference: Plain, path: str) -> Errors:
    errors: Errors = []
    for field in ("kind", "name"):
        value = text(reference, field)
        found = [invalid(f"{path}.{field}", value, problem) for problem in names.path_segment(value)]
        errors += found if value else [required(f"{path}.{field}")]
    return errors


_METRICS: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_SOURCES: Final = ("object", "external", "pods", "resource", "containerResource")
"""The fields in the order in which kube-apiserver looks for the first."""
_BOTH: Final = "may not set both a target raw value and a target utilization"
_EITHER: Final = "must set either a target raw value or a target utilization"


def _metric_errors(metric: Plain, path: str) -> Errors:
    kind = text(metric, "type")
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    # An empty type is unsupported, too, and gets both errors.
    if kind not in _METRICS:
        errors.append(unsupported(f"{path}.type", kind, sorted(_METRICS)))
    stated = [source for source in _SOURCES if metric.get(source) is not None]
    if stated:
        # Only the first source is validated; further ones are forbidden below.
        errors += _source_errors(stated[0], part(metric, stated[0]), f"{path}.{stated[0]}")
    # kube-apiserver reports an unknown type twice: before and after the source.
    if kind not in _METRICS:
        errors.append(unsupported(f"{path}.type", kind, sorted(_METRICS)))
    elif _METRICS[kind] not in stated:
        why = "must populate information for the given metric source"
        errors.append(required(f"{path}.{_METRICS[kind]}", why))
    if len(stated) != 1:
        why = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{item}", why) for item in stated if item != _METRICS.get(kind)]
    return errors


def _source_errors(kind: str, source: Plain, path: str) -> Errors:
    errors: Errors = []
    if kind in {"resource", "containerResource"}:
        errors += _resource_errors(kind, source, path)
    else:
        if kind == "object":
            errors += _described_errors(part(source, "describedObject"), f"{path}.describedObject")
        errors += _metric_name_errors(text(part(source, "metric"), "name"), f"{path}.metric.name")
    target, path = part(source, "target"), f"{path}.target"
    errors += _target_errors(target, path)
    has = {name for name in ("value", "averageValue", "averageUtilization") if target.get(name) is not None}
    if kind in {"resource", "containerResource"}:
        if not has & {"averageUtilization", "averageValue"}:
            errors.append(required(f"{path}.averageUtilization", _EITHER))
        if {"averageUtilization", "averageValue"} <= has:
            errors.append(forbidden(f"{path}.averageValue", _BOTH))
    elif kind == "pods" and "averageValue" not in has:
        errors.append(required(f"{path}.averageValue", "must specify a positive target averageValue"))
    elif kind in _NO_AMOUNT and not has & {"value", "averageValue"}:
        errors.append(required(f"{path}.averageValue", _NO_AMOUNT[kind]))
    elif kind == "external" and {"value", "averageValue"} <= has:
        why = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{path}.value", why))
    return errors


_NO_AMOUNT: Final = {
    "external": "must set either a target value for metric or a per-pod target",
    "object": "must set either a target value or averageValue",
}


def _resource_errors(kind: str, source: Plain, path: str) -> Errors:
    errors: Errors = []
    name = text(source, "name")
    if not name:
        errors.append(required(f"{path}.name", "must specify a resource name"))
    if kind == "resource":
        return errors
    if name:
        # Only container metrics validate the name of the resource; pod metrics accept any.
        errors += container_name_errors(f"{path}.name", name)
    if not source.get("container"):
        return [*errors, required(f"{path}.container", "must specify a container")]
    return errors + follows(f"{path}.container", source["container"], names.label)


def _described_errors(described: Plain, path: str) -> Errors:
    errors = _reference_errors(described, path)
    return errors + _version_errors(text(described, "apiVersion"), f"{path}.apiVersion")


def _metric_name_errors(name: str, path: str) -> Errors:
    if not name:
        return [required(path, "must specify a metric name")]
    return [invalid(path, name, problem) for problem in names.path_segment(name)]


def _target_errors(target: Plain, path: str) -> Errors:
    kind = text(target, "type")
    errors: Errors = []
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric target type"))
    # An empty type gets both errors.
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
            errors.append(unsupported(f"{at}.type", text(policy, "type"), ("Percent", "Pods")))
        for field in ("value", "periodSeconds"):
            if (policy.get(field) or 0) <= 0:
                errors.append(invalid(f"{at}.{field}", policy.get(field) or 0, "must be greater than zero"))
        if (policy.get("periodSeconds") or 0) > 1800:
            why = "must be less than or equal to 1800"
            errors.append(invalid(f"{at}.periodSeconds", policy["periodSeconds"], why))
    return errors + not_negative_amount(f"{path}.tolerance", rules.get("tolerance"))
