"""Deployments: defaults and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import forbidden, invalid
from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import rolling_update, shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.validation.checks import unsupported, up_to_all, whole_or_percent
from masthead_server.resources.validation.pod_controllers import (
    controller_template_errors,
    number_errors,
    selector_changes,
    selector_errors,
    shown_strategy,
    size_of,
)
from masthead_server.resources.validation.status import counters
from masthead_server.resources.warnings.pod_controllers import new_controller_warnings, template_warnings_of
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            unset={"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
            always={"strategy": rolling_update(maxUnavailable="25%", maxSurge="25%"), "template": TEMPLATE},
        )
    }
)


def deployment_errors(deployment: Plain) -> Errors:
    """Return the errors of a Deployment."""
    spec = part(deployment, "spec")
    errors = number_errors(spec, "replicas") + selector_errors(spec, "deployment")
    errors += controller_template_errors(spec, "ReplicaSet")
    errors += _strategy_errors(part(spec, "strategy"))
    errors += number_errors(spec, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        why = "must be greater than minReadySeconds"
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, why))
    return errors


def _strategy_errors(strategy: Plain) -> Errors:
    path, kind = "spec.strategy", strategy.get("type")
    if kind == "Recreate":
        if strategy.get("rollingUpdate") is None:
            return []
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(f"{path}.rollingUpdate", why)]
    if kind != "RollingUpdate":
        return [unsupported(path, shown_strategy(strategy), ("Recreate", "RollingUpdate"))]
    rolling, path = part(strategy, "rollingUpdate"), f"{path}.rollingUpdate"
    down, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = whole_or_percent(f"{path}.maxUnavailable", down) + whole_or_percent(f"{path}.maxSurge", surge)
    # With both at 0, a rolling update could not replace any pod.
    if not size_of(down) and not size_of(surge):
        errors.append(invalid(f"{path}.maxUnavailable", down, "may not be 0 when `maxSurge` is 0"))
    return errors + up_to_all(f"{path}.maxUnavailable", down)


def deployment_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a Deployment."""
    return deployment_errors(new) + selector_changes(new, old)


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_from_new_template("spec", "template"),
        prepare_update=dropped_from_template("spec", "template"),
        validate_create=deployment_errors,
        validate_update=deployment_changes,
        validate_status=counters(
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
            bounded=("updatedReplicas", "readyReplicas", "availableReplicas"),
        ),
    ),
    warnings=WarningHooks(new_controller_warnings, when_changed(template_warnings_of)),
)
