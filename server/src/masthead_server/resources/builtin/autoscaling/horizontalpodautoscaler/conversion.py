"""HorizontalPodAutoscalers: conversion between v1, which has CPU targets only, and v2, the stored version.

What v1 has no field for travels in annotations: metrics and conditions as v1's unserved types write them, the
behavior under the names that Go's fields have. An annotation that cannot be read counts as not there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from masthead._meta.quantity import parse_quantity
from masthead.errors import QuantityError
from masthead_server.wire.plain import Plain, items, part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_CURRENT: Final = f"{_PREFIX}current-metrics"
# The conversion writes no tolerance annotations, as the behavior has them, but kube-apiserver drops them.
_CARRIED: Final = frozenset(
    {
        _METRICS,
        _BEHAVIOR,
        _CONDITIONS,
        _CURRENT,
        f"{_PREFIX}scale-down-tolerance",
        f"{_PREFIX}scale-up-tolerance",
    }
)
_DEFAULT_TARGET: Final = 80
"""Percent of the processor that v1 aims at where nothing is said."""

_ESCAPED: Final = str.maketrans({element: f"\\u{ord(element):04x}" for element in "<>&\u2028\u2029"})
"""Characters that Go's JSON escapes."""


def without_v1_annotations(scaler: Plain) -> Plain:
    """Drop the annotations with a meaning in v1 only, which v2 never stores."""
    # A client that read v1 and writes v2 sends them back, now stale.
    annotations = part(part(scaler, "metadata"), "annotations")
    return scaler if _CARRIED.isdisjoint(annotations) else _annotate(scaler, {})


def v1_to_v2(scaler: Plain) -> Plain:
    """Write an autoscaler of v1 as one of v2, with what its annotations carry."""
    annotations = part(part(scaler, "metadata"), "annotations")
    return {
        # Previous carriers go: their content is in fields now, and a later read in v1 writes them afresh.
        **_annotate(scaler, {}),
        "spec": _spec_to_v2(scaler, annotations),
        "status": _status_to_v2(scaler, annotations),
    }


def v2_to_v1(scaler: Plain) -> Plain:
    """Write an autoscaler of v2 as one of v1, with annotations for what v1 has no field for."""
    spec, status = part(scaler, "spec"), part(scaler, "status")
    behavior = spec.get("behavior")
    # The CPU target is not carried, because v1 has a field for it.
    carried: dict[str, object] = {
        _METRICS: [_metric_to_v1(metric, _TARGETS) for metric in items(spec, "metrics") if _cpu_target(metric) is None],
        _CURRENT: [_metric_to_v1(current_metric, _CURRENTS) for current_metric in items(status, "currentMetrics")],
        _BEHAVIOR: _behavior_to_v1(cast("Plain", behavior)) if isinstance(behavior, dict) else None,
        _CONDITIONS: [_condition(condition) for condition in items(status, "conditions")],
    }
    texts = {name: _go_json(value) for name, value in carried.items() if value}
    return {**_annotate(scaler, texts), "spec": _spec_to_v1(spec), "status": _status_to_v1(status)}


class _UnreadableError(Exception):
    """An annotation that does not hold what it should."""


class _Row(NamedTuple):
    """A field of v1 and its path in v2.

    Attributes:
        name: The field of v1.
        path: The way to it in v2.
        read: Takes what an annotation has there; raises _UnreadableError if it is something else.
        always: What v1 writes where v2 has nothing; None if it leaves the field out.
    """

    name: str
    path: Sequence[str]
    read: Callable[[object], object]
    always: str | None = None

    @property
    def field(self) -> str:
        """The field of v2, at the end of the way."""
        return self.path[-1]


def _text(value: object) -> str:
    # A wrong type makes Go's decoder fail, and kube-apiserver ignores such an annotation without an error.
    if not isinstance(value, str):
        raise _UnreadableError
    return value


def _number(value: object) -> int:
    # Go would refuse the whole annotation for one number that does not fit.
    # Python's bool is an int, but JSON's true is no number for Go.
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        raise _UnreadableError
    return value


def _quantity(value: object) -> str:
    try:
        return str(parse_quantity(value))
    except QuantityError as error:
        raise _UnreadableError from error


def _object(value: object) -> Plain:
    if not isinstance(value, dict):
        raise _UnreadableError
    return cast("Plain", value)


def _reference(value: object) -> Plain:
    found = _object(value)
    # In v1 only apiVersion is optional; validation has refused an empty kind or name.
    return {name: found[name] for name in ("kind", "name", "apiVersion") if found.get(name)}


def _selector(value: object) -> Plain:
    """A label selector, its parts in the order in which Go writes them."""
    found = _object(value)
    made: Plain = {}
    if part(found, "matchLabels"):
        # Go's JSON writes maps in the order of their keys, and the annotation is compared as text.
        made["matchLabels"] = dict(sorted(part(found, "matchLabels").items()))
    if items(found, "matchExpressions"):
        made["matchExpressions"] = [
            {name: match_expression[name] for name in ("key", "operator", "values") if name in match_expression}
            for match_expression in items(found, "matchExpressions")
        ]
    return made


def _resource_rows(verb: str, holder: str, always: str | None) -> tuple[_Row, ...]:
    return (
        _Row("name", ("name",), _text, ""),
        _Row(f"{verb}AverageUtilization", (holder, "averageUtilization"), _number),
        _Row(f"{verb}AverageValue", (holder, "averageValue"), _quantity, always),
    )


def _rows(verb: str, holder: str, *, is_status: bool) -> dict[str, tuple[_Row, ...]]:
    """The fields of each type of metric, in the order in which v1 writes them."""
    # A quantity of the status is no pointer in v1, so that Go writes its zero.
    zero_in_status = "0" if is_status else None
    resource = _resource_rows(verb, holder, zero_in_status)
    metric_name = _Row("metricName", ("metric", "name"), _text, "")
    return {
        "object": (
            _Row("target", ("describedObject",), _reference),
            metric_name,
            # Object and pod targets are no pointers in v1 either, so that a missing one is written as zero.
            _Row(f"{verb}Value", (holder, "value"), _quantity, "0"),
            _Row("selector", ("metric", "selector"), _selector),
            _Row("averageValue", (holder, "averageValue"), _quantity),
        ),
        "pods": (
            metric_name,
            _Row(f"{verb}AverageValue", (holder, "averageValue"), _quantity, "0"),
            _Row("selector", ("metric", "selector"), _selector),
        ),
        "resource": resource,
        "containerResource": (*resource, _Row("container", ("container",), _text, "")),
        "external": (
            metric_name,
            _Row("metricSelector", ("metric", "selector"), _selector),
            _Row(f"{verb}Value", (holder, "value"), _quantity, zero_in_status),
            _Row(f"{verb}AverageValue", (holder, "averageValue"), _quantity),
        ),
    }


_TARGETS: Final = _rows("target", "target", is_status=False)
_CURRENTS: Final = _rows("current", "current", is_status=True)

_TARGET_TYPES: Final = {
    "object": ("averageValue", "AverageValue", "Value"),
    "pods": ("averageValue", "AverageValue", "AverageValue"),
    "resource": ("averageUtilization", "Utilization", "AverageValue"),
    "containerResource": ("averageUtilization", "Utilization", "AverageValue"),
    "external": ("value", "Value", "AverageValue"),
}
"""Which value of a metric decides, the type of target that it makes, and the type without it."""


def _metric_to_v1(metric: Plain, rows: dict[str, tuple[_Row, ...]]) -> Plain:
    made: Plain = {"type": metric.get("type", "")}
    for source, fields in rows.items():
        # An annotation keeps whatever sources are set, also one that does not fit the type: v1 must not lose data.
        if isinstance(metric.get(source), dict):
            made[source] = _source_to_v1(part(metric, source), fields)
    return made


def _source_to_v1(found: Plain, rows: tuple[_Row, ...]) -> Plain:
    made: Plain = {}
    for row in rows:
        value: Any = found
        for step in row.path:
            value = cast("Plain", value).get(step) if isinstance(value, dict) else None
        if value is not None:
            made[row.name] = row.read(value)
        elif row.always is not None:
            made[row.name] = row.always
    return made


def _metric_to_v2(metric: Plain, rows: dict[str, tuple[_Row, ...]]) -> Plain:
    made: Plain = {"type": _text(_find_value(metric, "type") or "")}
    for source, fields in rows.items():
        found = _find_value(metric, source)
        if found is not None:
            made[source] = _source_to_v2(_object(found), fields)
            # Only targets have a type; a status has the values alone.
            if rows is _TARGETS:
                _say_type(source, made[source])
    return made


def _source_to_v2(found: Plain, rows: tuple[_Row, ...]) -> Plain:
    made: Plain = {}
    for row in rows:
        owner = made
        # Also where there is no value: v2 has the struct around it in any case.
        for step in row.path[:-1]:
            owner = owner.setdefault(step, {})
        value = _find_value(found, row.name)
        kept = row.always if value is None else row.read(value)
        if kept is not None:
            owner[row.field] = kept
    return made


def _say_type(source: str, made: Plain) -> None:
    """In v1, the present values determine the target type."""
    target = part(made, "target")
    deciding, its_type, otherwise = _TARGET_TYPES[source]
    # A target that is an average has a plain value only where it is more than what v1 cannot leave out.
    if source == "object" and "averageValue" in target and parse_quantity(target["value"]).is_zero:
        del target["value"]
    made["target"] = {"type": its_type if deciding in target else otherwise, **target}


def _spec_to_v2(scaler: Plain, annotations: Plain) -> Plain:
    spec = part(scaler, "spec")
    made = {name: value for name, value in spec.items() if name != "targetCPUUtilizationPercentage"}
    wanted = spec.get("targetCPUUtilizationPercentage")
    # Metrics of the annotation come first and CPU last, so that a round trip through v1 may reorder them.
    metrics = _read_annotation(annotations, _METRICS, lambda metric: _metric_to_v2(metric, _TARGETS)) or []
    # v1 without any metric means CPU at the default target, which v2 has to state.
    if wanted is not None or not metrics:
        metrics.append(
            _cpu(
                {"type": "Utilization", "averageUtilization": _DEFAULT_TARGET if wanted is None else wanted},
                "target",
            )
        )
    made["metrics"] = metrics
    behavior = _behavior_to_v2(annotations)
    return {**made, "behavior": behavior} if behavior else made


def _spec_to_v1(spec: Plain) -> Plain:
    made = {name: value for name, value in spec.items() if name not in {"metrics", "behavior"}}
    targets = [item for item in map(_cpu_target, items(spec, "metrics")) if item is not None]
    # v1 has a single field: the first CPU target wins, if a client of v2 set several.
    return {**made, "targetCPUUtilizationPercentage": targets[0]} if targets else made


def _status_to_v2(scaler: Plain, annotations: Plain) -> Plain:
    status = part(scaler, "status")
    made = _progress(status)
    # v2 omits zero, where v1 writes it.
    if status.get("currentReplicas"):
        made["currentReplicas"] = status["currentReplicas"]
    made["desiredReplicas"] = status.get("desiredReplicas") or 0
    percent = status.get("currentCPUUtilizationPercentage")
    metrics = _read_annotation(annotations, _CURRENT, lambda metric: _metric_to_v2(metric, _CURRENTS))
    # The annotation is complete, the old field only a summary of it.
    if metrics is None and percent is not None:
        metrics = [_cpu({"averageUtilization": percent}, "current")]
    made["currentMetrics"] = metrics
    conditions = _read_annotation(annotations, _CONDITIONS, _condition)
    return {**made, "conditions": conditions} if conditions else made


def _status_to_v1(status: Plain) -> Plain:
    made = _progress(status)
    for name in ("currentReplicas", "desiredReplicas"):
        made[name] = status.get(name) or 0
    # The last CPU value wins here, because kube-apiserver overwrites the field in its loop.
    for metric in items(status, "currentMetrics"):
        percent = _cpu_value(metric, "current")
        if percent is not None:
            made["currentCPUUtilizationPercentage"] = percent
    return made


def _progress(status: Plain) -> Plain:
    shared = ("observedGeneration", "lastScaleTime")
    return {name: status[name] for name in shared if status.get(name) is not None}


def _cpu(value: Plain, holder: str) -> Plain:
    return {"type": "Resource", "resource": {"name": "cpu", holder: value}}


def _cpu_target(metric: Plain) -> object:
    return _cpu_value(metric, "target")


def _cpu_value(metric: Plain, holder: str) -> object:
    """The percentage of the processor that a metric is about; None if it is about something else."""
    resource = part(metric, "resource")
    # Other metrics have no field in v1, and go into annotations.
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    return part(resource, holder).get("averageUtilization")


def _condition(found: Plain) -> Plain:
    made: Plain = {name: _text(_find_value(found, name) or "") for name in ("type", "status")}
    # Always present, even as null: omitempty has no effect on a time, which is a struct in Go.
    made["lastTransitionTime"] = _find_value(found, "lastTransitionTime")
    for name in ("reason", "message"):
        if fields := _find_value(found, name):
            made[name] = _text(fields)
    return made


_DIRECTIONS: Final = ("scaleUp", "scaleDown")
_RULES: Final[dict[str, Callable[[object], object]]] = {
    "stabilizationWindowSeconds": _number,
    "selectPolicy": _text,
    "policies": lambda found: [_policy(_object(entry)) for entry in _list(found)],
    "tolerance": _quantity,
}
_POLICY: Final[tuple[tuple[str, Callable[[object], object], object], ...]] = (
    ("type", _text, ""),
    ("value", _number, 0),
    ("periodSeconds", _number, 0),
)


def _behavior_to_v1(behavior: Plain) -> Plain:
    """Go writes this struct with Go's field names, and with every field."""
    made = {
        # A direction that is not set is null: the internal type has no JSON tags, hence no omitempty.
        direction: _rules_to_v1(part(behavior, direction)) if isinstance(behavior.get(direction), dict) else None
        for direction in _DIRECTIONS
    }
    return cast("Plain", _capitalize(made))


def _rules_to_v1(rules: Plain) -> Plain:
    made = {rule: rules.get(rule) for rule in _RULES}
    if made["policies"] is not None:
        names = [name for name, _, _ in _POLICY]
        made["policies"] = [{name: policy.get(name) for name in names} for policy in items(rules, "policies")]
    return made


def _capitalize(value: object) -> object:
    if isinstance(value, dict):
        named = cast("dict[str, object]", value)
        return {name[0].upper() + name[1:]: _capitalize(nested) for name, nested in named.items()}
    if isinstance(value, list):
        return [_capitalize(item) for item in cast("list[object]", value)]
    return value


def _behavior_to_v2(annotations: Plain) -> Plain | None:
    try:
        found = _object(_parse(annotations, _BEHAVIOR))
        rules = {name: _find_value(found, name) for name in _DIRECTIONS}
        return {name: _rules_to_v2(_object(value)) for name, value in rules.items() if value is not None}
    # One malformed rule drops the whole behavior, as a failed decode does in Go.
    except _UnreadableError:
        return None


def _rules_to_v2(found: Plain) -> Plain:
    fields = {name: _find_value(found, name) for name in _RULES}
    return {name: _RULES[name](value) for name, value in fields.items() if value is not None}


def _policy(found: Plain) -> Plain:
    fields = {name: _find_value(found, name) for name, _, _ in _POLICY}
    return {name: zero if fields[name] is None else read(fields[name]) for name, read, zero in _POLICY}


def _annotate(scaler: Plain, carried: dict[str, str]) -> Plain:
    """Return the object with these annotations, without the previous carriers of v2 fields."""
    meta = part(scaler, "metadata")
    kept = {name: value for name, value in part(meta, "annotations").items() if name not in _CARRIED}
    made = {name: value for name, value in meta.items() if name != "annotations"}
    if kept or carried:
        made["annotations"] = {**kept, **carried}
    return {**scaler, "metadata": made}


def _read_annotation(annotations: Plain, name: str, change: Callable[[Plain], Plain]) -> list[Plain] | None:
    """The objects that an annotation holds; None if it is missing or malformed."""
    if name not in annotations:
        return None
    try:
        found = _parse(annotations, name)
        # A JSON null decodes to an empty list in Go, without an error.
        return [change(_object(item)) for item in _list([] if found is None else found)]
    except _UnreadableError:
        return None


def _parse(annotations: Plain, name: str) -> object:
    value = annotations.get(name)
    try:
        # Deeply nested JSON from a client must not raise in the server.
        return json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError) as error:
        raise _UnreadableError from error


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _UnreadableError
    return cast("list[object]", value)


def _find_value(found: Plain, name: str) -> object:
    """A value by its name; Go takes a name in other letters' case for the same."""
    if name in found:
        return found[name]
    # The exact name was tried first; among other spellings, the first one counts.
    return next((value for nested, value in found.items() if nested.lower() == name.lower()), None)


def _go_json(value: object) -> str:
    # Compact, and escaped like Go's encoder, byte for byte: annotations are compared as text.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPED)
