"""Behavior of MutatingWebhookConfigurations."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.admissionregistration.mutatingwebhookconfiguration.defaults import (
    DEFAULTS,
)
from masthead_server.resources.builtin.admissionregistration.warnings import admission_warnings
from masthead_server.resources.builtin.admissionregistration.webhook_validation import configuration_errors

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=configuration_errors, validate_update=lambda new, _old: configuration_errors(new)
    ),
    warnings=always(admission_warnings),
)
