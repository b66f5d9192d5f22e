"""Behavior of CSIStorageCapacities."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.storage.csistoragecapacity.validation import (
    capacity_changes,
    capacity_errors,
)
from masthead_server.resources.builtin.storage.csistoragecapacity.warnings import capacity_warnings

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=capacity_errors, validate_update=capacity_changes),
    warnings=always(capacity_warnings),
)
