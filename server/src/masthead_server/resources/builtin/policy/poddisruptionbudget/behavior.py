"""Behavior of PodDisruptionBudgets."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.policy.poddisruptionbudget.validation import (
    budget_errors,
    budget_status_errors,
)

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        validate_create=budget_errors,
        validate_update=lambda new, _old: budget_errors(new),
        validate_status=budget_status_errors,
    )
)
