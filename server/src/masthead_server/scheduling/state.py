"""The scheduler's view of the cluster: all nodes and pods, updated with every write."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.nodes import SchedulingNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.scheduling.facts import NodeFacts
    from masthead_server.scheduling.labels import Selector
    from masthead_server.scheduling.pods import SchedulingPod

__all__ = ["SchedulingState"]

_NO_LABELS: Mapping[str, str] = {}
_MAX_TALLIES: Final = 32
"""Selectors whose pods are counted with every change; the one that was not used for longest is given up."""


class SchedulingState:
    """Nodes, the pods on them, and the namespaces."""

    def __init__(self) -> None:
        self._nodes: dict[str, SchedulingNode] = {}
        self._known: list[SchedulingNode] | None = None
        self._placed: dict[ObjectRef, SchedulingPod] = {}
        self._by_label: defaultdict[tuple[str, tuple[str, str] | None], dict[ObjectRef, SchedulingPod]]
        self._by_label = defaultdict(dict)
        self._with_terms: dict[ObjectRef, SchedulingPod] = {}
        self._with_required_anti: dict[ObjectRef, SchedulingPod] = {}
        self._claim_users: Counter[tuple[str, str]] = Counter()
        self._tallies: OrderedDict[tuple[str, Selector], Counter[str]] = OrderedDict()
        self._nominated: defaultdict[str, dict[ObjectRef, SchedulingPod]] = defaultdict(dict)
        self._nominations: dict[ObjectRef, str] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """The labels of each namespace."""
        self.version = 0
        """Raised by every change that may decide about a pod."""

    @property
    def nodes(self) -> Sequence[SchedulingNode]:
        """The nodes, in the order of their arrival."""
        if self._known is None:
            self._known = [node for node in self._nodes.values() if node.facts is not None]
        return self._known

    def node(self, name: str) -> SchedulingNode | None:
        """Return a node; None if no node has this name."""
        found = self._nodes.get(name)
        return None if found is None or found.facts is None else found

    def set_node(self, name: str, facts: NodeFacts | None) -> bool:
        """Take note of a node, or with None of its deletion; returns whether that may decide about a pod."""
        node = self._nodes.get(name)
        if node is None:
            if facts is None:
                return False
            node = self._nodes[name] = SchedulingNode(name)
        elif node.facts == facts:
            return False
        self._known = None
        node.set(facts)
        # A node with pods stays as a place for them, without being one for others.
        if facts is None and not node.pods:
            del self._nodes[name]
        self.version += 1
        return True

    def pod(self, ref: ObjectRef) -> SchedulingPod | None:
        """Return a pod that has a node; None if it has no node."""
        return self._placed.get(ref)

    def place(self, pod: SchedulingPod) -> None:
        """Take note of a pod on a node."""
        self.displace(pod.ref)
        node = self._nodes.get(pod.node)
        if node is None:
            node = self._nodes[pod.node] = SchedulingNode(pod.node)
        node.add(pod)
        self._placed[pod.ref] = pod
        for key in _label_keys(pod):
            self._by_label[key][pod.ref] = pod
        if pod.affinity.concerns_pods:
            self._with_terms[pod.ref] = pod
        if pod.affinity.anti_required:
            self._with_required_anti[pod.ref] = pod
        self._count_claims(pod, 1)
        self._tally(pod, 1)
        self.version += 1

    def displace(self, ref: ObjectRef) -> bool:
        """Take note that a pod is on no node any more; returns whether it was on one."""
        pod = self._placed.pop(ref, None)
        if pod is None:
            return False
        node = self._nodes[pod.node]
        node.remove(pod)
        if node.facts is None and not node.pods:
            del self._nodes[pod.node]
        for key in _label_keys(pod):
            group = self._by_label[key]
            del group[ref]
            if not group:
                del self._by_label[key]
        self._with_terms.pop(ref, None)
        self._with_required_anti.pop(ref, None)
        self._count_claims(pod, -1)
        self._tally(pod, -1)
        self.version += 1
        return True

    def _count_claims(self, pod: SchedulingPod, sign: int) -> None:
        for claim in pod.claims:
            if not claim.is_ephemeral:
                key = pod.namespace, claim.name
                self._claim_users[key] += sign
                if not self._claim_users[key]:
                    del self._claim_users[key]

    def _tally(self, pod: SchedulingPod, sign: int) -> None:
        if pod.is_terminating:
            return
        for (namespace, selector), counts in self._tallies.items():
            if namespace == pod.namespace and selector.matches(pod.labels):
                counts[pod.node] += sign
                if not counts[pod.node]:
                    del counts[pod.node]

    def count_by_node(self, namespace: str, selector: Selector) -> Mapping[str, int]:
        """Count the pods by node that a selector matches, without those that are about to end."""
        key = namespace, selector
        counts = self._tallies.get(key)
        if counts is None:
            # Counting for each pod anew would take quadratic time for a large workload.
            found = self.select((namespace,), selector)
            counts = self._tallies[key] = Counter(pod.node for pod in found if not pod.is_terminating)
            if len(self._tallies) > _MAX_TALLIES:
                self._tallies.popitem(last=False)
        self._tallies.move_to_end(key)
        return counts

    def is_claim_used(self, namespace: str, name: str) -> bool:
        """Tell whether a pod on a node uses a claim."""
        return (namespace, name) in self._claim_users

    def select(self, namespaces: Iterable[str], selector: Selector) -> Iterator[SchedulingPod]:
        """Iterate over the pods on nodes that a selector matches."""
        for namespace in namespaces:
            pairs: Iterable[tuple[str, str] | None] = selector.pairs or (None,)
            # Every match has all of the pairs, so that the rarest one finds them with the least effort.
            groups = [self._by_label.get((namespace, pair), {}) for pair in pairs]
            for pod in min(groups, key=len).values():
                if selector.matches(pod.labels):
                    yield pod

    def with_terms(self) -> Iterable[SchedulingPod]:
        """The pods on nodes that have affinity to pods."""
        return self._with_terms.values()

    def with_required_anti(self) -> Iterable[SchedulingPod]:
        """The pods on nodes that must not be near some others."""
        return self._with_required_anti.values()

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""
        return self.namespaces.get(namespace, _NO_LABELS)

    def nominate(self, pod: SchedulingPod, node: str) -> None:
        """Keep room for a pod on a node; with an empty name, on none."""
        self.nominate_none(pod.ref)
        if node:
            self._nominations[pod.ref] = node
            self._nominated[node][pod.ref] = pod

    def nominate_none(self, ref: ObjectRef) -> None:
        """Keep no room for a pod any more."""
        before = self._nominations.pop(ref, "")
        if before:
            self._nominated[before].pop(ref, None)
            if not self._nominated[before]:
                del self._nominated[before]

    def nominated_node(self, ref: ObjectRef) -> str:
        """Return the node that keeps room for a pod; empty for none."""
        return self._nominations.get(ref, "")

    @property
    def has_nominations(self) -> bool:
        """Whether any node keeps room for a pod."""
        return bool(self._nominations)

    def nominated(self, node: str) -> Iterable[SchedulingPod]:
        """The pods for which a node keeps room."""
        found = self._nominated.get(node)
        return tuple(found.values()) if found else ()


def _label_keys(pod: SchedulingPod) -> Iterator[tuple[str, tuple[str, str] | None]]:
    yield pod.namespace, None
    for pair in pod.labels.items():
        yield pod.namespace, pair
