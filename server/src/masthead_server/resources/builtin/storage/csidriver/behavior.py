"""Behavior of CSIDrivers."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.storage.csidriver.defaults import DEFAULTS
from masthead_server.resources.builtin.storage.csidriver.validation import driver_changes, driver_errors
from masthead_server.resources.builtin.storage.csidriver.warnings import (
    driver_change_warnings,
    driver_warnings,
)
from masthead_server.resources.defaulting.disabled import dropped_on_create, dropped_on_update

_VOLUME_LIMIT_SCALING: Final = ("spec", "preventPodSchedulingIfMissing")

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_on_create(*_VOLUME_LIMIT_SCALING),
        prepare_update=dropped_on_update(*_VOLUME_LIMIT_SCALING),
        validate_create=driver_errors,
        validate_update=driver_changes,
    ),
    warnings=WarningHooks(driver_warnings, driver_change_warnings),
)
