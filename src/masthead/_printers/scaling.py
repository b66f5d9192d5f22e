"""Scaling and disruption: autoscalers, scales, disruption budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, integer, is_integer, part, text
from masthead._printers.formats import quantity
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_MAX_METRICS: Final = 2
_SECTIONS: Final[Mapping[str, str]] = {
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""Where the spec and the status of a metric are, by its type."""


def _metrics(specs: list[Plain], statuses: list[Plain]) -> str:
    """Format current and wanted values: ``cpu: 10%/50%, 3/5 (avg) + 1 more...``."""
    if not specs:
        return "<none>"
    # The status has no entry for a metric that was never measured.
    statuses = statuses + [{}] * (len(specs) - len(statuses))
    shown = [_metric(spec, status) for spec, status in zip(specs[:_MAX_METRICS], statuses, strict=False)]
    more = len(specs) - _MAX_METRICS
    return ", ".join(shown) + (f" + {more} more..." if more > 0 else "")


def _metric(spec: Plain, status: Plain) -> str:
    kind = text(spec, "type")
    section = _SECTIONS.get(kind)
    if section is None:
        return "<unknown type>"
    source, target = part(spec, section), part(spec, section, "target")
    is_known, current = has(status, section), part(status, section, "current")
    if kind in {"Resource", "ContainerResource"}:
        values = _utilization(target, current, is_known=is_known)
        return f"{text(source, 'name')}: {values}"
    if kind == "Pods":
        return f"{_value(current, 'averageValue', is_known=is_known)}/{quantity(target.get('averageValue'))}"
    if has(target, "averageValue"):
        is_known = has(current, "averageValue")
        wanted = quantity(target.get("averageValue"))
        return f"{_value(current, 'averageValue', is_known=is_known)}/{wanted} (avg)"
    return f"{_value(current, 'value', is_known=is_known)}/{quantity(target.get('value'))}"


def _utilization(target: Plain, current: Plain, *, is_known: bool) -> str:
    if has(target, "averageValue"):
        shown = _value(current, "averageValue", is_known=is_known)
        return f"{shown}/{quantity(target.get('averageValue'))}"
    return f"{_percent(current, '<unknown>')}/{_percent(target, '<auto>')}"


def _percent(owner: Plain, unset: str) -> str:
    return f"{integer(owner, 'averageUtilization')}%" if has(owner, "averageUtilization") else unset


def _value(current: Plain, name: str, *, is_known: bool) -> str:
    if not is_known:
        return "<unknown>"
    # Go prints a pointer to no quantity so.
    return quantity(current.get(name)) if has(current, name) else "<nil>"


def _autoscaler(obj: Plain, now: datetime) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    reference = part(spec, "scaleTargetRef")
    return [
        name_of(obj),
        f"{text(reference, 'kind')}/{text(reference, 'name')}",
        _metrics(_metric_specs(spec), _metric_statuses(status)),
        str(integer(spec, "minReplicas")) if has(spec, "minReplicas") else "<unset>",
        integer(spec, "maxReplicas"),
        integer(status, "currentReplicas"),
        age_of(obj, now),
    ]


def _metric_specs(spec: Plain) -> list[Plain]:
    """Return the metrics; autoscaling/v1 has the utilization of CPU instead."""
    # autoscaling/v1 has one field for CPU instead of a list of metrics.
    utilization = spec.get("targetCPUUtilizationPercentage")
    if utilization is None:
        return entries(spec, "metrics")
    return [_cpu("target", utilization)]


def _metric_statuses(status: Plain) -> list[Plain]:
    utilization = status.get("currentCPUUtilizationPercentage")
    if utilization is None:
        return entries(status, "currentMetrics")
    return [_cpu("current", utilization)]


def _cpu(role: str, utilization: object) -> Plain:
    return {"type": "Resource", "resource": {"name": "cpu", role: {"averageUtilization": utilization}}}


def _scale(obj: Plain, now: datetime) -> list[Cell]:
    desired, available = integer(part(obj, "spec"), "replicas"), integer(part(obj, "status"), "replicas")
    return [name_of(obj), desired, available, age_of(obj, now)]


def _disruption_budget(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        _count_or_percent(spec.get("minAvailable")),
        _count_or_percent(spec.get("maxUnavailable")),
        integer(part(obj, "status"), "disruptionsAllowed"),
        age_of(obj, now),
    ]


def _count_or_percent(value: object) -> str:
    return str(value) if isinstance(value, str) or is_integer(value) else "N/A"


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("autoscaling", "HorizontalPodAutoscaler"): Printer(
        (
            NAME,
            Column("Reference"),
            Column("Targets"),
            Column("MinPods"),
            Column("MaxPods"),
            Column("Replicas"),
            AGE,
        ),
        _autoscaler,
    ),
    ("autoscaling", "Scale"): Printer(
        (Column("Name"), Column("Desired", "integer"), Column("Available", "integer"), AGE), _scale
    ),
    ("policy", "PodDisruptionBudget"): Printer(
        (
            NAME,
            Column("Min Available"),
            Column("Max Unavailable"),
            Column("Allowed Disruptions", "integer"),
            AGE,
        ),
        _disruption_budget,
    ),
}
"""The printers, by group and kind."""
