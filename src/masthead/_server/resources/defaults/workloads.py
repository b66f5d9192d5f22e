"""Defaults of what runs pods: the groups apps, batch and autoscaling."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from masthead._server.resources.defaulting.fill import Fill, each, shape
from masthead._server.resources.defaults.core import CLAIM
from masthead._server.resources.defaults.pods import TEMPLATE
from masthead._server.wire.plain import metadata, part

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_MOST: Final = 2**31 - 1
_ROLLING: Final = "RollingUpdate"


def _rolling(**unset: int | str) -> Fill:
    """A strategy that rolls unless it says otherwise, with these settings then."""
    settings = shape(unset=unset)

    def fill(strategy: Plain) -> None:
        if not strategy.get("type"):
            strategy["type"] = _ROLLING
        if strategy["type"] == _ROLLING:
            rolling = part(strategy, "rollingUpdate")
            settings(rolling)
            strategy["rollingUpdate"] = rolling

    return fill


def _fill_stateful_strategy(strategy: Plain) -> None:
    # Unlike its siblings it gets no settings where only the type is stated.
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == _ROLLING and rolling is not None and rolling.get("partition") is None:
        rolling["partition"] = 0


def _name_claim(claim: Plain) -> None:
    claim["apiVersion"] = "v1"
    claim["kind"] = "PersistentVolumeClaim"
    CLAIM(claim)


APPS: Final[dict[str, Fill]] = {
    "Deployment": shape(
        always={
            "spec": shape(
                unset={"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
                always={"strategy": _rolling(maxUnavailable="25%", maxSurge="25%"), "template": TEMPLATE},
            )
        }
    ),
    "DaemonSet": shape(
        always={
            "spec": shape(
                unset={"revisionHistoryLimit": 10},
                always={"updateStrategy": _rolling(maxUnavailable=1, maxSurge=0), "template": TEMPLATE},
            )
        }
    ),
    "StatefulSet": shape(
        always={
            "spec": shape(
                blank={"podManagementPolicy": "OrderedReady"},
                unset={"replicas": 1, "revisionHistoryLimit": 10},
                always={
                    "updateStrategy": _fill_stateful_strategy,
                    "persistentVolumeClaimRetentionPolicy": shape(
                        blank={"whenDeleted": "Retain", "whenScaled": "Retain"}
                    ),
                    "template": TEMPLATE,
                },
                inside={"volumeClaimTemplates": each(_name_claim)},
            )
        }
    ),
    "ReplicaSet": shape(always={"spec": shape(unset={"replicas": 1}, always={"template": TEMPLATE})}),
}
"""The group apps, by kind."""

_FAILURE_PATTERN: Final = shape(blank={"status": "True"})
_FAILURE_RULES: Final = shape(
    inside={"rules": each(shape(inside={"onPodConditions": each(_FAILURE_PATTERN)}))}
)


def _fill_counts(spec: Plain) -> None:
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
        if spec.get("completions") is None:
            spec["completions"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MOST
    if spec.get("podReplacementPolicy") is None:
        policy = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
        spec["podReplacementPolicy"] = policy


def _copy_labels(job: Plain) -> None:
    labels = part(part(part(job["spec"], "template"), "metadata"), "labels")
    if labels and not metadata(job).get("labels"):
        # One map in two places, as on the real server: what is added to the one shows up in the other.
        metadata(job)["labels"] = labels


_JOB_INSIDE: Final = {"podFailurePolicy": _FAILURE_RULES}
_CRON: Final = shape(
    blank={"concurrencyPolicy": "Allow"},
    unset={"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
    always={"jobTemplate": shape(always={"spec": shape(always={"template": TEMPLATE}, inside=_JOB_INSIDE)})},
)

BATCH: Final[dict[str, Fill]] = {
    "Job": shape(
        always={
            "spec": shape(
                unset={"completionMode": "NonIndexed", "suspend": False, "manualSelector": False},
                always={"template": TEMPLATE},
                inside=_JOB_INSIDE,
                then=_fill_counts,
            )
        },
        then=_copy_labels,
    ),
    "CronJob": shape(always={"spec": _CRON}),
}
"""The group batch, by kind."""

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


AUTOSCALING: Final[dict[str, Fill]] = {
    "v1/HorizontalPodAutoscaler": shape(
        always={"spec": shape(unset={"minReplicas": 1})}, then=_fill_utilization
    ),
    "v2/HorizontalPodAutoscaler": shape(
        always={
            "spec": shape(
                unset={"minReplicas": 1},
                inside={
                    "behavior": shape(always={"scaleUp": shape(unset=_UP), "scaleDown": shape(unset=_DOWN)})
                },
                then=_fill_metrics,
            )
        }
    ),
}
"""The group autoscaling, by version and kind."""
