"""Defaults of ResourceQuotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import round_up, shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(
    inside={
        "spec": shape(inside={"hard": round_up}),
        "status": shape(inside={"hard": round_up, "used": round_up}),
    }
)
