"""Defaults of rolling updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain

ROLLING_UPDATE: Final = "RollingUpdate"


def rolling_update(**unset: int | str) -> Fill:
    """A strategy that rolls unless it says otherwise, with these settings then."""
    settings = shape(unset=unset)

    def fill(strategy: Plain) -> None:
        if not strategy.get("type"):
            strategy["type"] = ROLLING_UPDATE
        if strategy["type"] == ROLLING_UPDATE:
            rolling = part(strategy, "rollingUpdate")
            settings(rolling)
            strategy["rollingUpdate"] = rolling

    return fill
