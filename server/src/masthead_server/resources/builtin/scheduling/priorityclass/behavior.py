"""Behavior of PriorityClasses."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.scheduling.priorityclass.defaults import DEFAULTS
from masthead_server.resources.builtin.scheduling.priorityclass.validation import (
    priority_changes,
    priority_errors,
)

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS, hooks=StrategyHooks(validate_create=priority_errors, validate_update=priority_changes)
)
