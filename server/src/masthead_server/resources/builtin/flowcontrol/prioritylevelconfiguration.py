"""PriorityLevelConfigurations: defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior
from masthead_server.resources.defaulting.fill import shape

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

_QUEUING: Final = shape(blank={"handSize": 8, "queues": 64, "queueLengthLimit": 50})
DEFAULTS: Final[Fill] = shape(
    inside={
        "spec": shape(
            inside={
                "limited": shape(
                    unset={"nominalConcurrencyShares": 30, "lendablePercent": 0},
                    inside={"limitResponse": shape(inside={"queuing": _QUEUING})},
                ),
                "exempt": shape(unset={"nominalConcurrencyShares": 0, "lendablePercent": 0}),
            }
        )
    }
)

BEHAVIOR: Final = Behavior(defaults=DEFAULTS)
