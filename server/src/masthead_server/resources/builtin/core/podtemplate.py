"""PodTemplates: defaults and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.defaulting.disabled_pod_fields import dropped_from_new_template, dropped_from_template
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.validation.pod_spec import template_errors
from masthead_server.resources.warnings.pod_spec import template_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(always={"template": TEMPLATE})


def pod_template_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a PodTemplate."""
    return template_warnings("template", part(obj, "template"))


BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        prepare_create=dropped_from_new_template("template"),
        prepare_update=dropped_from_template("template"),
        validate_create=lambda obj: template_errors(part(obj, "template"), "template"),
        validate_update=lambda new, _old: template_errors(part(new, "template"), "template"),
    ),
    warnings=WarningHooks(pod_template_warnings, when_changed(pod_template_warnings)),
)
