"""Behavior of StatefulSets."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.apps.statefulset.defaults import DEFAULTS
from masthead_server.resources.builtin.apps.statefulset.validation import (
    stateful_set_changes,
    stateful_set_errors,
)
from masthead_server.resources.builtin.apps.statefulset.warnings import (
    new_stateful_set_warnings,
    stateful_set_warnings,
)
from masthead_server.resources.defaulting.disabled import dropped_on_create, dropped_on_update
from masthead_server.resources.validation.status import counters

_MAX_UNAVAILABLE: Final = ("spec", "updateStrategy", "rollingUpdate", "maxUnavailable")

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_on_create(*_MAX_UNAVAILABLE),
        prepare_update=dropped_on_update(*_MAX_UNAVAILABLE),
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
