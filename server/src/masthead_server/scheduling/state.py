"""The scheduler's view of the cluster: all nodes and pods, updated after every write."""

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
"""The number of selectors with incremental pod counts; the least recently used one is dropped."""


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
        """Incremented by every change that may affect scheduling."""

    @property
    def nodes(self) -> Sequence[SchedulingNode]:
        """The nodes, in the order of their creation."""
        if self._known is None:
            self._known = [node for node in self._nodes.values() if node.facts is not None]
        return self._known

    def node(self, name: str) -> SchedulingNode | None:
        """Return a node; None if no node has this name."""
        found = self._nodes.get(name)
        return None if found is None or found.facts is None else found

    def set_node(self, name: str, facts: NodeFacts | None) -> bool:
        """Record a node, or with None its deletion; return whether the change may affect scheduling."""
        node = self._nodes.get(name)
        if node is None:
            if facts is None:
                return False
            node = self._nodes[name] = SchedulingNode(name)
        elif node.facts == facts:
            return False
        self._known = None
        node.set(facts)
        # A deleted node with pods remains for their accounting, and is not a candidate.
        if facts is None and not node.pods:
            del self._nodes[name]
        self.version += 1
        return True

    def pod(self, ref: ObjectRef) -> SchedulingPod | None:
        """Return a bound pod; None for an unbound one."""
        return self._placed.get(ref)

    def place(self, pod: SchedulingPod) -> None:
        """Record a pod on a node."""
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
        """Remove a pod from its node; return whether it was on one."""
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
        """Count the pods that a selector matches by node, without terminating ones."""
        key = namespace, selector
        counts = self._tallies.get(key)
        if counts is None:
            # Counting again for each pod would take quadratic time for a large workload.
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
            # Every match has all of the pairs: look up the rarest one.
            groups = [self._by_label.get((namespace, pair), {}) for pair in pairs]
            for pod in min(groups, key=len).values():
                if selector.matches(pod.labels):
                    yield pod

    def with_terms(self) -> Iterable[SchedulingPod]:
        """Pods on nodes with affinity to other pods."""
        return self._with_terms.values()

    def with_required_anti(self) -> Iterable[SchedulingPod]:
        """Pods on nodes with required anti-affinity."""
        return self._with_required_anti.values()

    def labels_of(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""
        return self.namespaces.get(namespace, _NO_LABELS)

    def nominate(self, pod: SchedulingPod, node: str) -> None:
        """Nominate a node for a pod; clear the nomination with an empty name."""
        self.nominate_none(pod.ref)
        if node:
            self._nominations[pod.ref] = node
            self._nominated[node][pod.ref] = pod

    def nominate_none(self, ref: ObjectRef) -> None:
        """Clear the nomination of a pod."""
        before = self._nominations.pop(ref, "")
        if before:
            self._nominated[before].pop(ref, None)
            if not self._nominated[before]:
                del self._nominated[before]

    def nominated_node(self, ref: ObjectRef) -> str:
        """Return the nominated node of a pod; empty for none."""
        return self._nominations.get(ref, "")

    @property
    def has_nominations(self) -> bool:
        """Whether any pod has a nominated node."""
        return bool(self._nominations)

    def nominated(self, node: str) -> Iterable[SchedulingPod]:
        """Return the pods that are nominated to a node."""
        found = self._nominated.get(node)
        return tuple(found.values()) if found else ()


def _label_keys(pod: SchedulingPod) -> Iterator[tuple[str, tuple[str, str] | None]]:
    yield pod.namespace, None
    for pair in pod.labels.items():
        yield pod.namespace, pair
