"""Behavior of IngressClasses."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.networking.ingressclass.defaults import DEFAULTS
from masthead_server.resources.builtin.networking.ingressclass.validation import class_changes, class_errors

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS, hooks=StrategyHooks(validate_create=class_errors, validate_update=class_changes)
)
