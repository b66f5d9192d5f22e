"""Behavior of ResourceQuotas."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.core.resourcequota.defaults import DEFAULTS
from masthead_server.resources.builtin.core.resourcequota.validation import (
    quota_changes,
    quota_errors,
    quota_status_errors,
)
from masthead_server.resources.builtin.core.resourcequota.warnings import quota_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=quota_errors, validate_update=quota_changes, validate_status=quota_status_errors
    ),
    warnings=WarningHooks(quota_warnings),
)
