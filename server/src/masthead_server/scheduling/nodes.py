"""A node with the sum of its pods' requests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.requests import parse_amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.scheduling.facts import NodeFacts, Taint
    from masthead_server.scheduling.pods import HostPort, SchedulingPod

__all__ = ["SchedulingNode"]

_KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})
_DISCOURAGES: Final = "PreferNoSchedule"
_ANY_ADDRESS: Final = "0.0.0.0"


class SchedulingNode:
    """The resources of a node and their use. Adding and removing a pod takes constant time.

    Args:
        name: The node's name.
    """

    __slots__ = (
        "allocatable",
        "cpu",
        "cpu_used",
        "facts",
        "hard_taints",
        "labels",
        "max_pods",
        "memory",
        "memory_used",
        "name",
        "others_used",
        "pods",
        "ports",
        "scored_cpu",
        "scored_memory",
        "soft_taints",
        "storage",
        "storage_used",
        "unschedulable",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts: NodeFacts | None = None
        """None for pods without a node object."""
        self.labels: Mapping[str, str] = {}
        self.unschedulable = False
        self.hard_taints: tuple[Taint, ...] = ()
        self.soft_taints: tuple[Taint, ...] = ()
        self.allocatable: Mapping[str, int] = {}
        self.cpu = self.memory = self.storage = self.max_pods = 0
        self.cpu_used = self.memory_used = self.storage_used = 0
        self.scored_cpu = self.scored_memory = 0
        self.others_used: Counter[str] = Counter()
        self.pods: dict[ObjectRef, SchedulingPod] = {}
        self.ports: Counter[HostPort] = Counter()

    def set(self, facts: NodeFacts | None) -> None:
        """Update the node; None after its deletion."""
        self.facts = facts
        if facts is None:
            # Its pods remain, and count again once a node of this name is created.
            return
        self.labels = facts.metadata.labels
        self.unschedulable = facts.spec.unschedulable
        self.hard_taints = tuple(taint for taint in facts.spec.taints if taint.effect in _KEEPS_AWAY)
        self.soft_taints = tuple(taint for taint in facts.spec.taints if taint.effect == _DISCOURAGES)
        amounts = parse_amounts(facts.status.allocatable)
        self.allocatable = amounts
        self.cpu, self.memory = amounts.get("cpu", 0), amounts.get("memory", 0)
        self.storage, self.max_pods = amounts.get("ephemeral-storage", 0), amounts.get("pods", 0)

    def add(self, pod: SchedulingPod) -> None:
        """Add a pod."""
        self.pods[pod.ref] = pod
        self._count(pod, 1)

    def remove(self, pod: SchedulingPod) -> None:
        """Remove a pod."""
        del self.pods[pod.ref]
        self._count(pod, -1)

    def _count(self, pod: SchedulingPod, sign: int) -> None:
        requests = pod.requests
        self.cpu_used += sign * requests.cpu
        self.memory_used += sign * requests.memory
        self.storage_used += sign * requests.storage
        self.scored_cpu += sign * requests.scored_cpu
        self.scored_memory += sign * requests.scored_memory
        for name, amount in requests.others.items():
            self.others_used[name] += sign * amount
        for port in pod.ports:
            self.ports[port] += sign
            # Port checks iterate over the ports in use.
            if not self.ports[port]:
                del self.ports[port]

    def has_free(self, ports: Iterable[HostPort]) -> bool:
        """Tell whether no pod uses one of these ports."""
        return not any(self._is_taken(port) for port in ports)

    def _is_taken(self, port: HostPort) -> bool:
        # 0.0.0.0 conflicts with the same port of any address, in both directions.
        if port.address == _ANY_ADDRESS:
            return any(taken[:2] == port[:2] for taken in self.ports)
        return port in self.ports or port._replace(address=_ANY_ADDRESS) in self.ports

    def copy(self) -> SchedulingNode:
        """Return a copy, to simulate the removal of pods."""
        copied = SchedulingNode(self.name)
        # Preemption makes a copy per candidate, so that only changing parts are copied deeply.
        for slot in self.__slots__:
            setattr(copied, slot, getattr(self, slot))
        copied.pods, copied.ports = dict(self.pods), Counter(self.ports)
        copied.others_used = Counter(self.others_used)
        return copied
