"""Defaults of ValidatingWebhookConfigurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.admissionregistration.defaults import WEBHOOK, WEBHOOK_INSIDE
from masthead_server.resources.defaulting.fill import each, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(inside={"webhooks": each(shape(unset=WEBHOOK, inside=WEBHOOK_INSIDE))})
