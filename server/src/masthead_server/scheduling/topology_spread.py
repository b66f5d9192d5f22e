"""Topology spread constraints: required and preferred ones, and default spreading."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.node_checks import matches_affinity
from masthead_server.scheduling.rejections import Cure, Rejection
from masthead_server.scheduling.scores import MAX_SCORE
from masthead_server.scheduling.taints import is_tolerated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead_server.scheduling.labels import Selector
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.state import SchedulingState
    from masthead_server.scheduling.topology_constraints import SpreadConstraint

__all__ = ["TopologySpreadCheck", "score_default_spread", "score_spread"]

_UNEVEN_TEXT: Final = "node(s) didn't match pod topology spread constraints"
_CURES: Final = Cure.NODE | Cure.POD_REMOVED | Cure.POD_ADDED
_UNEVEN: Final = Rejection((_UNEVEN_TEXT,), _CURES)
_UNLABELLED: Final = Rejection((f"{_UNEVEN_TEXT} (missing required label)",), _CURES, is_final=True)
_NO_DOMAIN: Final = 2**31 - 1
"""The minimum if there are no domains."""
_HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_DEFAULT_HOST_SKEW: Final = 3
_DEFAULT_ZONE_SKEW: Final = 5


class TopologySpreadCheck:
    """Rejects nodes in domains with too many matching pods.

    Args:
        pod: The pod.
        constraints: Its required constraints.
        state: The nodes and the pods on them.
    """

    def __init__(self, pod: SchedulingPod, constraints: Sequence[SpreadConstraint], state: SchedulingState) -> None:
        self._pod = pod
        self._constraints = constraints
        self._keys = {constraint.topology_key for constraint in constraints}
        # A node without all of the labels belongs to no domain of any constraint.
        counting = [node for node in state.nodes if node.labels.keys() >= self._keys]
        self._counts = [self._count_domains(constraint, counting, state) for constraint in constraints]
        self._own = [int(constraint.selector.matches(pod.labels)) for constraint in constraints]
        self._least: list[int | None] = [None] * len(constraints)

    def _count_domains(
        self, constraint: SpreadConstraint, nodes: Iterable[SchedulingNode], state: SchedulingState
    ) -> Counter[str]:
        counts: Counter[str] = Counter()
        included: dict[str, str] = {}
        for node in nodes:
            if _includes(constraint, self._pod, node):
                domain = included[node.name] = node.labels[constraint.topology_key]
                # Domains without pods count, too.
                counts[domain] += 0
        for other in _select(constraint, self._pod, state):
            if other.node in included:
                counts[included[other.node]] += 1
        return counts

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return why a node does not fit; None if it does."""
        for number, constraint in enumerate(self._constraints):
            domain = node.labels.get(constraint.topology_key)
            if domain is None:
                return _UNLABELLED
            if self._counts[number][domain] + self._own[number] - self._find_least(number) > constraint.max_skew:
                return _UNEVEN
        return None

    def _find_least(self, number: int) -> int:
        least = self._least[number]
        if least is None:
            counts = self._counts[number]
            has_enough = len(counts) >= self._constraints[number].min_domains
            least = self._least[number] = min(counts.values(), default=_NO_DOMAIN) if has_enough else 0
        return least

    def adjust(self, pod: SchedulingPod, node: SchedulingNode, sign: int) -> None:
        """Count a pod as if it were on a node (1), or as if it were not (-1)."""
        if pod.namespace != self._pod.namespace or not node.labels.keys() >= self._keys:
            return
        for number, constraint in enumerate(self._constraints):
            if constraint.selector.matches(pod.labels) and _includes(constraint, self._pod, node):
                self._counts[number][node.labels[constraint.topology_key]] += sign
                # The minimum may have changed.
                self._least[number] = None


def _includes(constraint: SpreadConstraint, pod: SchedulingPod, node: SchedulingNode) -> bool:
    """Whether a node counts for a constraint of a pod."""
    if constraint.honors_affinity and not matches_affinity(pod, node):
        return False
    return not constraint.honors_taints or all(is_tolerated(taint, pod.tolerations) for taint in node.hard_taints)


def _select(constraint: SpreadConstraint, pod: SchedulingPod, state: SchedulingState) -> Iterable[SchedulingPod]:
    # As in kube-scheduler, an empty selector selects no pods here.
    if constraint.selector.is_empty:
        return ()
    found = state.select((pod.namespace,), constraint.selector)
    return (other for other in found if not other.is_terminating)


def score_spread(
    pod: SchedulingPod,
    constraints: Sequence[SpreadConstraint],
    nodes: Sequence[SchedulingNode],
    state: SchedulingState,
) -> list[int]:
    """Score nodes by preferred constraints: the fewer matching pods in a domain, the better.

    Args:
        pod: The pod.
        constraints: Its preferred constraints.
        nodes: The nodes that fit.
        state: The nodes and the pods on them.
    """
    keys = {constraint.topology_key for constraint in constraints}
    is_ignored = [not node.labels.keys() >= keys for node in nodes]
    counted = [node for node, ignored in zip(nodes, is_ignored, strict=True) if not ignored]
    sums = [0.0] * len(nodes)
    for constraint in constraints:
        key = constraint.topology_key
        counts = _count_preferred(constraint, pod, counted, state)
        # A topology with more domains has more weight, since the same skew matters more there.
        size = len(counted) if key == _HOSTNAME else len(counts)
        weight = math.log(size + 2)
        for number, node in enumerate(nodes):
            if not is_ignored[number]:
                place = node.name if key == _HOSTNAME else node.labels[key]
                sums[number] += counts[place] * weight + constraint.max_skew - 1
    return _invert([round(value) for value in sums], is_ignored)


def _count_preferred(
    constraint: SpreadConstraint, pod: SchedulingPod, nodes: Iterable[SchedulingNode], state: SchedulingState
) -> Counter[str]:
    key = constraint.topology_key
    counts: Counter[str] = Counter()
    for node in nodes:
        counts[node.name if key == _HOSTNAME else node.labels[key]] += 0
    for other in _select(constraint, pod, state):
        found = state.node(other.node)
        if found is None:
            continue
        if key == _HOSTNAME:
            counts[found.name] += 1
        elif found.labels.get(key) in counts and _includes(constraint, pod, found):
            counts[found.labels[key]] += 1
    return counts


def score_default_spread(
    pod: SchedulingPod, selector: Selector, nodes: Sequence[SchedulingNode], state: SchedulingState
) -> list[int]:
    """Score nodes for a pod without constraints: the fewer pods of its Services and workload, the better.

    Args:
        pod: The pod.
        selector: Selects the pods that belong together.
        nodes: The nodes that fit.
        state: The nodes and the pods on them.
    """
    by_node = state.count_by_node(pod.namespace, selector)
    zones = {node.labels.get(_ZONE, "") for node in nodes}
    by_zone = _count_by_zone(pod, by_node, zones, state)
    host_weight, zone_weight = math.log(len(nodes) + 2), math.log(len(zones) + 2)
    sums = [0.0] * len(nodes)
    for number, node in enumerate(nodes):
        # Unlike with explicit constraints, a node without one of the labels counts by the other one.
        if _HOSTNAME in node.labels:
            sums[number] += by_node.get(node.name, 0) * host_weight + _DEFAULT_HOST_SKEW - 1
        if _ZONE in node.labels:
            sums[number] += by_zone[node.labels[_ZONE]] * zone_weight + _DEFAULT_ZONE_SKEW - 1
    return _invert([round(value) for value in sums], [False] * len(nodes))


def _count_by_zone(
    pod: SchedulingPod, by_node: Mapping[str, int], zones: set[str], state: SchedulingState
) -> Counter[str]:
    counts: Counter[str] = Counter()
    if zones == {""}:
        return counts  # no node has a zone
    # Most pods have no node affinity: skip the check, which runs for each node with a matching pod.
    is_limited = bool(pod.facts.spec.node_selector) or pod.affinity.node_terms is not None
    for name, count in by_node.items():
        node = state.node(name)
        if node is not None and (not is_limited or matches_affinity(pod, node)):
            counts[node.labels.get(_ZONE, "")] += count
    return counts


def _invert(sums: Sequence[int], is_ignored: Sequence[bool]) -> list[int]:
    considered = [value for value, ignored in zip(sums, is_ignored, strict=True) if not ignored]
    least, largest = min(considered, default=0), max(considered, default=0)
    # Without matching pods, all nodes get the best score.
    if not largest:
        return [0 if ignored else MAX_SCORE for ignored in is_ignored]
    return [
        0 if ignored else MAX_SCORE * (largest + least - value) // largest
        for value, ignored in zip(sums, is_ignored, strict=True)
    ]
