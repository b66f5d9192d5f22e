"""Behavior of RuntimeClasses."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.node.runtimeclass.validation import runtime_changes, runtime_errors
from masthead_server.resources.builtin.node.runtimeclass.warnings import runtime_class_warnings

BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(validate_create=runtime_errors, validate_update=runtime_changes),
    warnings=always(runtime_class_warnings),
)
