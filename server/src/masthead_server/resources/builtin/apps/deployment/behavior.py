"""Behavior of Deployments."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.apps.deployment.defaults import DEFAULTS
from masthead_server.resources.builtin.apps.deployment.validation import (
    deployment_changes,
    deployment_errors,
)
from masthead_server.resources.validation.status import counters
from masthead_server.resources.warnings.pod_controllers import new_controller_warnings, template_warnings_of

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
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
