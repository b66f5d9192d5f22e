"""Behavior of ConfigMaps."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.builtin.core.configmap.validation import config_map_changes, config_map_errors

BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=config_map_errors, validate_update=config_map_changes))
