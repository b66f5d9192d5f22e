"""Behavior of PodTemplates."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.core.podtemplate.defaults import DEFAULTS
from masthead_server.resources.builtin.core.podtemplate.warnings import pod_template_warnings
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.wire.plain import part

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=lambda obj: template_errors(part(obj, "template"), "template"),
        validate_update=lambda new, _old: template_errors(part(new, "template"), "template"),
    ),
    warnings=WarningHooks(pod_template_warnings, when_changed(pod_template_warnings)),
)
