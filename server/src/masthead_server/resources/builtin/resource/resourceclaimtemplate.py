"""ResourceClaimTemplates: defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, Conversion
from masthead_server.resources.builtin.resource import conversion
from masthead_server.resources.builtin.resource.claim_defaults import (
    DEVICE_REQUEST,
    OLD_REQUEST,
    claim_template_defaults,
)

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = claim_template_defaults(DEVICE_REQUEST)
V1BETA1_DEFAULTS: Final[Fill] = claim_template_defaults(OLD_REQUEST)

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    defaults_by_version={"v1beta1": V1BETA1_DEFAULTS},
    conversions={"v1beta1": Conversion(conversion.template_from_v1beta1, conversion.template_to_v1beta1)},
)
