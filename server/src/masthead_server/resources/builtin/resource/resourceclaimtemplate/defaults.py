"""Defaults of ResourceClaimTemplates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.resource.claim_defaults import (
    DEVICE_REQUEST,
    OLD_REQUEST,
    claim_template_defaults,
)

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = claim_template_defaults(DEVICE_REQUEST)
V1BETA1_DEFAULTS: Final[Fill] = claim_template_defaults(OLD_REQUEST)
