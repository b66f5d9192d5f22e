"""Defaults of StatefulSets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.core.persistentvolumeclaim.defaults import CLAIM
from masthead_server.resources.defaulting.fill import each, shape
from masthead_server.resources.defaulting.pod_template import TEMPLATE
from masthead_server.resources.defaulting.rolling_update import ROLLING_UPDATE

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _fill_stateful_strategy(strategy: Plain) -> None:
    # Unlike its siblings it gets no settings where only the type is stated.
    if not strategy.get("type"):
        strategy["type"] = ROLLING_UPDATE
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == ROLLING_UPDATE and rolling is not None and rolling.get("partition") is None:
        rolling["partition"] = 0


def _name_claim(claim: Plain) -> None:
    claim["apiVersion"] = "v1"
    claim["kind"] = "PersistentVolumeClaim"
    CLAIM(claim)


DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            blank={"podManagementPolicy": "OrderedReady"},
            unset={"replicas": 1, "revisionHistoryLimit": 10},
            always={
                "updateStrategy": _fill_stateful_strategy,
                "persistentVolumeClaimRetentionPolicy": shape(blank={"whenDeleted": "Retain", "whenScaled": "Retain"}),
                "template": TEMPLATE,
            },
            inside={"volumeClaimTemplates": each(_name_claim)},
        )
    }
)
