"""Defaults of ValidatingWebhookConfigurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.builtin.admissionregistration.defaults import WEBHOOK, WEBHOOK_INSIDE
from masthead._server.resources.defaulting.fill import each, shape

if TYPE_CHECKING:
    from masthead._server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(inside={"webhooks": each(shape(unset=WEBHOOK, inside=WEBHOOK_INSIDE))})
