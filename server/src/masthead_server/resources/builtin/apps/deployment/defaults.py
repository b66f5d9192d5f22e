"""Defaults of Deployments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.defaulting.rolling_update import rolling_update

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill

DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            unset={"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
            always={"strategy": rolling_update(maxUnavailable="25%", maxSurge="25%"), "template": TEMPLATE},
        )
    }
)
