"""Behavior of ControllerRevisions."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.apps.controllerrevision.validation import (
    revision_changes,
    revision_errors,
)

BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=revision_errors, validate_update=revision_changes))
