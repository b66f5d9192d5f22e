"""Behavior of LimitRanges."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, StrategyHooks
from masthead._server.resources.builtin.core.limitrange.defaults import DEFAULTS
from masthead._server.resources.builtin.core.limitrange.validation import limit_range_errors

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=limit_range_errors, validate_update=lambda new, _old: limit_range_errors(new)
    ),
)
