"""Behavior of PriorityClasses."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, StrategyHooks
from masthead._server.resources.builtin.scheduling.priorityclass.defaults import DEFAULTS
from masthead._server.resources.builtin.scheduling.priorityclass.validation import (
    priority_changes,
    priority_errors,
)

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS, hooks=StrategyHooks(validate_create=priority_errors, validate_update=priority_changes)
)
