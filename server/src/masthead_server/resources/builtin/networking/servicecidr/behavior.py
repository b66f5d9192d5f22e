"""Behavior of ServiceCIDRs."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.networking.servicecidr.validation import (
    cidr_object_changes,
    cidr_object_errors,
)

BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=cidr_object_errors, validate_update=cidr_object_changes))
