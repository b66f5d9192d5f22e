"""Behavior of ResourceClaims."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, Conversion
from masthead_server.resources.builtin.resource import conversion
from masthead_server.resources.builtin.resource.resourceclaim.defaults import DEFAULTS, V1BETA1_DEFAULTS

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    defaults_by_version={"v1beta1": V1BETA1_DEFAULTS},
    conversions={"v1beta1": Conversion(conversion.claim_from_v1beta1, conversion.claim_to_v1beta1)},
)
