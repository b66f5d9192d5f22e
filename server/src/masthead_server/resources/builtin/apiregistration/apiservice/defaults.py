"""Defaults of APIServices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.service_reference import SERVICE_REFERENCE

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(inside={"spec": shape(inside={"service": SERVICE_REFERENCE})})
