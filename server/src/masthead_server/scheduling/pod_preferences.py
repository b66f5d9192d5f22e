"""Preferred affinity between pods, in both directions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from masthead_server.scheduling.pod_affinity import covered_namespaces
from masthead_server.scheduling.scores import MAX_SCORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.scheduling.affinity_terms import PodTerm
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.state import SchedulingState

__all__ = ["score_pod_affinity"]


def score_pod_affinity(pod: SchedulingPod, nodes: Sequence[SchedulingNode], state: SchedulingState) -> list[int] | None:
    """Score nodes by the preferred affinity of a pod to others, and of others to it; None without preferences.

    Args:
        pod: The pod.
        nodes: The nodes that fit.
        state: The pods on nodes.
    """
    places: Counter[tuple[str, str]] = Counter()
    for term in pod.affinity.preferred:
        for other in state.select(covered_namespaces(term, state), term.selector):
            _count(places, term, term.weight, other, state)
    labels = state.labels_of(pod.namespace)
    # Preferences of other pods about this one; most pods have none, and are not in this list.
    for other in state.with_terms():
        affinity = other.affinity
        # As in kube-scheduler, a required affinity of another pod counts as a preference of weight 1.
        weighted = (*((term, 1) for term in affinity.required), *((term, term.weight) for term in affinity.preferred))
        for term, weight in weighted:
            if term.covers(pod.namespace, labels) and term.selector.matches(pod.labels):
                _count(places, term, weight, other, state)
    if not places:
        return None
    sums = [sum(places[place] for place in node.labels.items() if place in places) for node in nodes]
    least, largest = min(sums), max(sums)
    # Equal sums make no difference.
    if least == largest:
        return [0] * len(sums)
    return [int(MAX_SCORE * ((value - least) / (largest - least))) for value in sums]


def _count(
    places: Counter[tuple[str, str]], term: PodTerm, weight: int, other: SchedulingPod, state: SchedulingState
) -> None:
    node = state.node(other.node)
    value = None if node is None else node.labels.get(term.topology_key)
    if value is not None:
        places[term.topology_key, value] += weight
