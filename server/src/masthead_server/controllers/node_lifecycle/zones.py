"""Rate limits for NoExecute taints: the more nodes of a zone are unhealthy, the lower the rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from masthead_server.wire.plain import Plain

__all__ = ["Zone", "ZoneState", "compute_state", "eviction_rate", "is_excluded", "zone_of"]

_RATE: Final = 0.1
_REDUCED_RATE: Final = 0.01
"""Nodes per second to taint in a zone."""
_LARGE_ZONE: Final = 50
"""Zones with more nodes slow evictions down in a partial disruption; smaller zones stop them."""
_UNHEALTHY_SHARE: Final = 0.55
_UNHEALTHY_NODES: Final = 2
_SETTLING: Final = 0.1
"""Seconds until a queued node is tainted: simultaneous failures first determine the zone's health."""
_EXCLUDED: Final = "node.kubernetes.io/exclude-disruption"


class ZoneState(Enum):
    """The health of a zone."""

    NORMAL = "Normal"
    PARTIAL = "PartialDisruption"
    FULL = "FullDisruption"


def zone_of(node: Plain) -> str:
    """Return region and zone of a node."""
    labels = part(part(node, "metadata"), "labels")
    return f"{text(labels, 'topology.kubernetes.io/region')}/{text(labels, 'topology.kubernetes.io/zone')}"


def is_excluded(node: Plain) -> bool:
    """Tell whether a node is excluded from the health of its zone."""
    return _EXCLUDED in part(part(node, "metadata"), "labels")


def compute_state(ready: Iterable[bool]) -> ZoneState:
    """Return the state of a zone from the readiness of its nodes."""
    nodes = list(ready)
    unhealthy = nodes.count(False)
    if nodes and unhealthy == len(nodes):
        return ZoneState.FULL
    if unhealthy > _UNHEALTHY_NODES and unhealthy / len(nodes) >= _UNHEALTHY_SHARE:
        return ZoneState.PARTIAL
    return ZoneState.NORMAL


def eviction_rate(state: ZoneState, size: int) -> float:
    """Return how many nodes of a zone may be tainted each second."""
    if state is ZoneState.PARTIAL:
        return _REDUCED_RATE if size > _LARGE_ZONE else 0.0
    return _RATE


@dataclass(slots=True)
class Zone:
    """The nodes of a zone, and the queue of nodes to taint.

    Attributes:
        ready: Whether each node is ready, by name.
        rate: Nodes to taint per second; 0 for none.
        queue: The nodes to taint, with the earliest time for each.
    """

    ready: dict[str, bool] = field(default_factory=dict[str, bool])
    rate: float = _RATE
    queue: dict[str, float] = field(default_factory=dict[str, float])
    _tokens: float = 1.0
    _refilled: float = 0.0

    @property
    def state(self) -> ZoneState:
        """The health of the zone."""
        return compute_state(self.ready.values())

    def swap_rate(self, rate: float) -> None:
        """Change the rate; as with a new limiter, the next taint has a token."""
        if rate != self.rate:
            self.rate, self._tokens = rate, 1.0

    def add(self, node: str, now: datetime) -> None:
        """Queue a node."""
        self.queue.setdefault(node, now.timestamp() + _SETTLING)

    def take(self, now: datetime) -> str:
        """Remove the next node from the queue and return it; empty if none is due."""
        moment = now.timestamp()
        self._refill(moment)
        due = next((node for node, time in self.queue.items() if time <= moment), "")
        if not due or not self.rate or self._tokens < 1:
            return ""
        self._tokens -= 1
        del self.queue[due]
        return due

    def delay(self, now: datetime) -> float | None:
        """Return the seconds until the next node is due; None with an empty queue or a rate of 0."""
        if not self.queue or not self.rate:
            return None
        moment = now.timestamp()
        self._refill(moment)
        return max(0.001, min(self.queue.values()) - moment, (1 - self._tokens) / self.rate)

    def _refill(self, moment: float) -> None:
        passed = max(0.0, moment - self._refilled)
        # Round up a token that floating-point errors leave just short of 1.
        self._tokens = min(1.0, round(self._tokens + passed * self.rate, 9))
        self._refilled = moment
