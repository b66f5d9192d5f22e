"""Behavior of Events."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, Conversion, StrategyHooks
from masthead_server.resources.builtin.events.event import conversion
from masthead_server.resources.builtin.events.event.validation import strict_changes, strict_errors

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=strict_errors, validate_update=strict_changes),
    conversions={"v1": Conversion(conversion.to_core, conversion.from_core)},
)
