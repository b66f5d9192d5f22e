"""Defaults of Endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import each, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(inside={"subsets": each(shape(inside={"ports": each(shape(blank={"protocol": "TCP"}))}))})
