"""Behavior of EndpointSlices."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks
from masthead_server.resources.builtin.discovery.endpointslice.defaults import DEFAULTS
from masthead_server.resources.builtin.discovery.endpointslice.validation import slice_changes, slice_errors
from masthead_server.resources.builtin.discovery.endpointslice.warnings import endpoint_slice_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=slice_errors, validate_update=slice_changes),
    warnings=WarningHooks(endpoint_slice_warnings),
)
