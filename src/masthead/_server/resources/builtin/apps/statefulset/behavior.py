"""Behavior of StatefulSets."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead._server.resources.builtin.apps.statefulset.defaults import DEFAULTS
from masthead._server.resources.builtin.apps.statefulset.validation import (
    stateful_set_changes,
    stateful_set_errors,
)
from masthead._server.resources.builtin.apps.statefulset.warnings import (
    new_stateful_set_warnings,
    stateful_set_warnings,
)
from masthead._server.resources.validation.status import counters

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=stateful_set_errors,
        validate_update=stateful_set_changes,
        validate_status=counters(
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
            bounded=("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"),
            ready="status.readyReplicas",
        ),
    ),
    warnings=WarningHooks(new_stateful_set_warnings, stateful_set_warnings),
)
