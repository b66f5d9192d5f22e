"""The health of a node: when it is unreachable, and its conditions then. Pure decisions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["NodeHealth", "condition_status", "find_condition", "grace_period", "mark_unknown"]

_GRACE: Final = 50.0
_STARTUP_GRACE: Final = 60.0
"""Seconds without a heartbeat until a node is unreachable; longer for a node that has never posted a status."""
_KINDS: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions of the kubelet; other programs own the others."""


def find_condition(node: Plain, kind: str = "Ready") -> Plain | None:
    """Return the condition of a node of this type, or None."""
    conditions = items(part(node, "status"), "conditions")
    return next((condition for condition in conditions if text(condition, "type") == kind), None)


def condition_status(node: Plain, kind: str = "Ready") -> str:
    """Return the status of a condition; empty without the condition."""
    return text(find_condition(node, kind) or {}, "status")


def grace_period(node: Plain) -> float:
    """Return the seconds that a node may be silent."""
    return _STARTUP_GRACE if find_condition(node) is None else _GRACE


@dataclass(slots=True)
class NodeHealth:
    """The last heartbeat of a node.

    Attributes:
        probed: Its time on the controller's clock: kubelets' clocks may differ.
        heartbeat: The time in its condition Ready.
        renewal: The time in its Lease.
    """

    probed: datetime
    heartbeat: str = ""
    renewal: str = ""

    @classmethod
    def first(cls, node: Plain, now: datetime) -> NodeHealth:
        """Start to monitor a node."""
        created = text(metadata(node), "creationTimestamp")
        if find_condition(node) is None and created:
            return cls(datetime.fromisoformat(created))
        return cls(now)

    def record(self, node: Plain, lease: Plain | None, now: datetime) -> None:
        """Record a new time in the condition or the Lease."""
        heartbeat = text(find_condition(node) or {}, "lastHeartbeatTime")
        renewal = text(part(lease or {}, "spec"), "renewTime")
        if (heartbeat and heartbeat != self.heartbeat) or renewal > self.renewal:
            # The heartbeat counts from the moment when the controller sees it.
            self.probed = now
        self.heartbeat, self.renewal = heartbeat, renewal


def mark_unknown(node: Plain, now: str) -> None:
    """Change the conditions of a node whose kubelet is silent."""
    status = node.setdefault("status", {})
    for kind in _KINDS:
        known = find_condition(node, kind)
        if known is None:
            new = {
                "type": kind,
                "status": "Unknown",
                "lastHeartbeatTime": text(metadata(node), "creationTimestamp"),
                "lastTransitionTime": now,
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
            }
            status["conditions"] = [*items(status, "conditions"), new]
        elif text(known, "status") != "Unknown":
            known |= {
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": now,
            }
