"""Behavior of CustomResourceDefinitions."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, WarningHooks
from masthead._server.resources.builtin.apiextensions.customresourcedefinition.defaults import DEFAULTS
from masthead._server.resources.builtin.apiextensions.customresourcedefinition.warnings import format_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS, warnings=WarningHooks(lambda new: format_warnings(new, {}), format_warnings)
)
