"""Behavior of Events."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.core.event.validation import event_errors

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=event_errors, validate_update=lambda new, _old: event_errors(new))
)
