"""Defaults of HorizontalPodAutoscalers."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

_CPU_PERCENT: Final = 80
_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Final = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
_CPU_METRIC: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": _CPU_PERCENT}},
}
_METRICS_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/metrics"


def _fill_metrics(spec: Plain) -> None:
    if not spec.get("metrics"):
        spec["metrics"] = [copy.deepcopy(_CPU_METRIC)]


def _fill_utilization(scaler: Plain) -> None:
    spec = scaler["spec"]
    # Version 1 keeps metrics that it has no field for in an annotation.
    if _METRICS_ANNOTATION not in part(metadata(scaler), "annotations"):
        spec.setdefault("targetCPUUtilizationPercentage", _CPU_PERCENT)


V1_DEFAULTS: Final[Fill] = shape(always={"spec": shape(unset={"minReplicas": 1})}, then=_fill_utilization)
V2_DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            unset={"minReplicas": 1},
            inside={"behavior": shape(always={"scaleUp": shape(unset=_UP), "scaleDown": shape(unset=_DOWN)})},
            then=_fill_metrics,
        )
    }
)
