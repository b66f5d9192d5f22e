"""Behavior of ReplicationControllers."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.core.replicationcontroller.defaults import DEFAULTS
from masthead_server.resources.builtin.core.replicationcontroller.validation import controller_errors
from masthead_server.resources.builtin.core.replicationcontroller.warnings import change_warnings
from masthead_server.resources.scale import ReplicaScale
from masthead_server.resources.validation.status import replica_status_errors
from masthead_server.resources.warnings.pod_controllers import new_controller_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=controller_errors,
        validate_update=lambda new, _old: controller_errors(new),
        validate_status=replica_status_errors,
    ),
    warnings=WarningHooks(new_controller_warnings, change_warnings),
    scale=ReplicaScale(default=1, has_label_map=True),
)
