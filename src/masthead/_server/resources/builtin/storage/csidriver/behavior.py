"""Behavior of CSIDrivers."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead._server.resources.builtin.storage.csidriver.defaults import DEFAULTS
from masthead._server.resources.builtin.storage.csidriver.validation import driver_changes, driver_errors
from masthead._server.resources.builtin.storage.csidriver.warnings import (
    driver_change_warnings,
    driver_warnings,
)

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=driver_errors, validate_update=driver_changes),
    warnings=WarningHooks(driver_warnings, driver_change_warnings),
)
