"""Behavior of ReplicaSets."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.apps.replicaset.defaults import DEFAULTS
from masthead_server.resources.builtin.apps.replicaset.validation import (
    replica_set_changes,
    replica_set_errors,
)
from masthead_server.resources.validation.status import replica_status_errors
from masthead_server.resources.warnings.pod_controllers import new_controller_warnings, template_warnings_of

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=replica_set_errors,
        validate_update=replica_set_changes,
        validate_status=replica_status_errors,
    ),
    warnings=WarningHooks(new_controller_warnings, when_changed(template_warnings_of)),
)
