"""Behavior of MutatingWebhookConfigurations."""

from __future__ import annotations

from typing import Final

from masthead._server.resources.behavior import Behavior, always
from masthead._server.resources.builtin.admissionregistration.mutatingwebhookconfiguration.defaults import (
    DEFAULTS,
)
from masthead._server.resources.builtin.admissionregistration.warnings import admission_warnings

BEHAVIOR: Final = Behavior(defaults=DEFAULTS, warnings=always(admission_warnings))
