"""Behavior of CSINodes."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.storage.csinode.validation import node_changes, node_errors

BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=node_errors, validate_update=node_changes))
