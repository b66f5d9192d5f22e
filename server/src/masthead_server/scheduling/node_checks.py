"""Checks of one node at a time: taints, node affinity, host ports and resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from masthead_server.scheduling.facts import Taint
from masthead_server.scheduling.labels import matches_node
from masthead_server.scheduling.rejections import Cure, Rejection
from masthead_server.scheduling.taints import is_tolerated

if TYPE_CHECKING:
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod

__all__ = [
    "AffinityCheck",
    "NodeCheck",
    "PodAwareCheck",
    "PortCheck",
    "ResourceCheck",
    "TaintCheck",
    "matches_affinity",
]

_CORDONED: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_UNSCHEDULABLE: Final = Rejection(("node(s) were unschedulable",), Cure.NODE, is_final=True)
_UNTOLERATED: Final = Rejection(("node(s) had untolerated taint(s)",), Cure.NODE, is_final=True)
_OTHER_NODE: Final = Rejection(("node(s) didn't match Pod's node affinity/selector",), Cure.NODE, is_final=True)
_PORTS_TAKEN: Final = Rejection(
    ("node(s) didn't have free ports for the requested pod ports",), Cure.NODE | Cure.POD_REMOVED
)


class NodeCheck(Protocol):
    """Decides whether a node fits a pod."""

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        ...


class PodAwareCheck(NodeCheck, Protocol):
    """Decides by the pods of all nodes, with counts from its creation."""

    def adjust(self, pod: SchedulingPod, node: SchedulingNode, sign: int) -> None:
        """Count a pod as if it were on a node (1), or as if it were not (-1)."""
        ...


class TaintCheck:
    """Rejects cordoned nodes, and nodes with untolerated taints."""

    def __init__(self, pod: SchedulingPod) -> None:
        self._pod = pod

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        # The node lifecycle controller taints a cordoned node later; until then, check the field.
        if node.unschedulable and not is_tolerated(_CORDONED, self._pod.tolerations):
            return _UNSCHEDULABLE
        # One reason per node: with one per taint, messages would grow with the cluster.
        for taint in node.hard_taints:
            if not is_tolerated(taint, self._pod.tolerations):
                return _UNTOLERATED
        return None


class AffinityCheck:
    """Rejects nodes that the node selector or required node affinity of a pod does not match."""

    def __init__(self, pod: SchedulingPod) -> None:
        self._pod = pod

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        return None if matches_affinity(self._pod, node) else _OTHER_NODE


def matches_affinity(pod: SchedulingPod, node: SchedulingNode) -> bool:
    """Tell whether a node matches the node selector and required node affinity of a pod."""
    labels = node.labels
    if any(labels.get(key) != value for key, value in pod.facts.spec.node_selector.items()):
        return False
    terms = pod.affinity.node_terms
    return terms is None or matches_node(terms, node.name, labels)


class PortCheck:
    """Rejects nodes where another pod uses a host port of the pod."""

    def __init__(self, pod: SchedulingPod) -> None:
        self._ports = pod.ports

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        return None if node.has_free(self._ports) else _PORTS_TAKEN


class ResourceCheck:
    """Rejects nodes with insufficient resources."""

    def __init__(self, pod: SchedulingPod) -> None:
        self._requests = pod.requests
        requests = pod.requests
        self._is_empty = not (requests.cpu or requests.memory or requests.storage or requests.others)

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        requests = self._requests
        # Fast path: nearly all nodes pass, without a list of reasons.
        if (
            len(node.pods) < node.max_pods
            and requests.cpu <= node.cpu - node.cpu_used
            and requests.memory <= node.memory - node.memory_used
            and not requests.storage
            and not requests.others
        ):
            return None
        return self._explain(node)

    def _explain(self, node: SchedulingNode) -> Rejection | None:
        requests = self._requests
        reasons: list[str] = []
        is_final = False
        if len(node.pods) + 1 > node.max_pods:
            reasons.append("Too many pods")
        if not self._is_empty:
            native = (
                ("cpu", requests.cpu, node.cpu, node.cpu_used),
                ("memory", requests.memory, node.memory, node.memory_used),
                ("ephemeral-storage", requests.storage, node.storage, node.storage_used),
            )
            others = (
                (name, amount, node.allocatable.get(name, 0), node.others_used[name])
                for name, amount in requests.others.items()
            )
            for name, requested, capacity, used in (*native, *others):
                # A pod without a request for a resource fits on a node that is overcommitted in it.
                if requested and requested > capacity - used:
                    reasons.append(f"Insufficient {name}")
                    # Final: not even an empty node would have enough.
                    is_final = is_final or requested > capacity
        if not reasons:
            return None
        return Rejection(tuple(reasons), Cure.NODE | Cure.POD_REMOVED, is_final)
