"""The time for which a pod tolerates the NoExecute taints of its node. Pure decisions."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from masthead_server.controllers.workloads.node_eligibility import is_tolerated
from masthead_server.wire.plain import items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.controllers.workloads.node_eligibility import NodeTaint
    from masthead_server.wire.plain import Plain

__all__ = ["toleration_seconds"]


def toleration_seconds(spec: Plain, taints: Sequence[NodeTaint]) -> float:
    """Return the seconds after which a pod is evicted: 0 for immediately, infinity for never."""
    tolerations = items(spec, "tolerations")
    used: list[Plain] = []
    for taint in taints:
        # As in kube-controller-manager, the first matching toleration counts.
        match = next((toleration for toleration in tolerations if is_tolerated(taint, [toleration])), None)
        if match is None:
            return 0.0
        used.append(match)
    seconds = [toleration.get("tolerationSeconds") for toleration in used]
    return max(0.0, min((float(value) for value in seconds if value is not None), default=inf))
