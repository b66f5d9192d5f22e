"""Defaults of PodTemplates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(always={"template": TEMPLATE})
