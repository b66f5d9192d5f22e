"""Defaults of IngressClasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(inside={"spec": shape(inside={"parameters": shape(unset={"scope": "Cluster"})})})
