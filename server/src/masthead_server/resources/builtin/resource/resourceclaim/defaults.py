"""Defaults of ResourceClaims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.resource.claim_defaults import (
    DEVICE_REQUEST,
    OLD_REQUEST,
    claim_defaults,
)

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = claim_defaults(DEVICE_REQUEST)
V1BETA1_DEFAULTS: Final[Fill] = claim_defaults(OLD_REQUEST)
