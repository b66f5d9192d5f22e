"""Required affinity between pods, in both directions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.rejections import Cure, Rejection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead_server.scheduling.affinity_terms import PodTerm
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.state import SchedulingState

__all__ = ["PodAffinityCheck", "covered_namespaces"]

_CURES: Final = Cure.NODE | Cure.POD_REMOVED | Cure.POD_ADDED | Cure.NAMESPACE
_NO_PEER: Final = Rejection(("node(s) didn't match pod affinity rules",), _CURES, is_final=True)
_UNWANTED_PEER: Final = Rejection(("node(s) didn't match pod anti-affinity rules",), _CURES)
_UNWANTED_HERE: Final = Rejection(("node(s) didn't satisfy existing pods anti-affinity rules",), _CURES)
_Place = tuple[str, str]


class PodAffinityCheck:
    """Rejects nodes by the required affinity and anti-affinity of the pod, and by the anti-affinity of pods on nodes.

    Args:
        pod: The pod.
        state: The pods on nodes.
    """

    def __init__(self, pod: SchedulingPod, state: SchedulingState) -> None:
        self._pod = pod
        self._state = state
        self._labels = state.labels_of(pod.namespace)
        self._needed: Counter[_Place] = Counter()
        self._unwanted: Counter[_Place] = Counter()
        self._unwelcome: Counter[_Place] = Counter()
        # The anti-affinity of pods on nodes also rejects pods without any affinity.
        for other in state.with_required_anti():
            self._count_unwelcome(other, _labels_of(state, other.node), 1)
        affinity = pod.affinity
        if affinity.required:
            for other in _select(state, affinity.required[:1]):
                self._count_needed(other, _labels_of(state, other.node), 1)
        for term in affinity.anti_required:
            for other in _select(state, (term,)):
                self._count(self._unwanted, term, _labels_of(state, other.node), 1)

    @property
    def is_needed(self) -> bool:
        """Whether it may reject a node."""
        return bool(self._pod.affinity.required or self._pod.affinity.anti_required or self._unwelcome)

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        # In kube-scheduler's order: it reports the first reason only.
        if not self._has_needed(node):
            return _NO_PEER
        labels = node.labels
        for term in self._pod.affinity.anti_required:
            if self._unwanted[term.topology_key, labels.get(term.topology_key, "")] > 0 and term.topology_key in labels:
                return _UNWANTED_PEER
        if self._unwelcome and any(self._unwelcome[place] > 0 for place in labels.items()):
            return _UNWANTED_HERE
        return None

    def adjust(self, pod: SchedulingPod, node: SchedulingNode, sign: int) -> None:
        """Count a pod as if it were on a node (1), or as if it were not (-1)."""
        self._count_unwelcome(pod, node.labels, sign)
        self._count_needed(pod, node.labels, sign)
        for term in self._pod.affinity.anti_required:
            if _matches(term, pod, self._state):
                self._count(self._unwanted, term, node.labels, sign)

    def _has_needed(self, node: SchedulingNode) -> bool:
        terms = self._pod.affinity.required
        if any(term.topology_key not in node.labels for term in terms):
            return False
        if all(self._needed[term.topology_key, node.labels[term.topology_key]] > 0 for term in terms):
            return True
        # The first pod of a group with affinity to itself fits anywhere.
        is_first = not any(self._needed.values())
        return is_first and all(_matches(term, self._pod, self._state) for term in terms)

    def _count_unwelcome(self, other: SchedulingPod, labels: Mapping[str, str], sign: int) -> None:
        for term in other.affinity.anti_required:
            if term.covers(self._pod.namespace, self._labels) and term.selector.matches(self._pod.labels):
                self._count(self._unwelcome, term, labels, sign)

    def _count_needed(self, other: SchedulingPod, labels: Mapping[str, str], sign: int) -> None:
        terms = self._pod.affinity.required
        # A pod counts if it matches all terms.
        if terms and all(_matches(term, other, self._state) for term in terms):
            for term in terms:
                self._count(self._needed, term, labels, sign)

    @staticmethod
    def _count(counts: Counter[_Place], term: PodTerm, labels: Mapping[str, str], sign: int) -> None:
        value = labels.get(term.topology_key)
        if value is not None:
            counts[term.topology_key, value] += sign


def _matches(term: PodTerm, pod: SchedulingPod, state: SchedulingState) -> bool:
    return term.covers(pod.namespace, state.labels_of(pod.namespace)) and term.selector.matches(pod.labels)


def _select(state: SchedulingState, terms: Sequence[PodTerm]) -> Iterable[SchedulingPod]:
    for term in terms:
        yield from state.select(covered_namespaces(term, state), term.selector)


def covered_namespaces(term: PodTerm, state: SchedulingState) -> set[str]:
    """Return the namespaces that a term applies to."""
    # Listed namespaces count even if they do not exist yet.
    selected = (name for name, labels in state.namespaces.items() if term.namespace_selector.matches(labels))
    return {*term.namespaces, *selected}


def _labels_of(state: SchedulingState, name: str) -> Mapping[str, str]:
    node = state.node(name)
    return {} if node is None else node.labels
