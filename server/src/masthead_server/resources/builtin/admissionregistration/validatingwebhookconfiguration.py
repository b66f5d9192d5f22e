"""ValidatingWebhookConfigurations: defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.builtin.admissionregistration.defaults import WEBHOOK, WEBHOOK_INSIDE
from masthead_server.resources.builtin.admissionregistration.warnings import admission_warnings
from masthead_server.resources.builtin.admissionregistration.webhook_validation import configuration_errors
from masthead_server.resources.defaulting.fill import for_each, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(inside={"webhooks": for_each(shape(unset=WEBHOOK, inside=WEBHOOK_INSIDE))})

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(
        validate_create=configuration_errors, validate_update=lambda new, _old: configuration_errors(new)
    ),
    warnings=always(admission_warnings),
)
