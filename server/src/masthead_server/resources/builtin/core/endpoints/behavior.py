"""Behavior of Endpoints."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.core.endpoints.defaults import DEFAULTS
from masthead_server.resources.builtin.core.endpoints.validation import endpoints_changes, subset_errors
from masthead_server.resources.builtin.core.endpoints.warnings import endpoints_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=subset_errors, validate_update=endpoints_changes),
    warnings=always(endpoints_warnings),
)
