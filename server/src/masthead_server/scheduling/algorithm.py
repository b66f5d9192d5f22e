"""Chooses the feasible node with the highest score for a pod.

The search begins where the one for the last pod ended. It stops at `MIN_FEASIBLE` feasible nodes, and chooses the best
of them. Ties go to the smallest name, so that runs are reproducible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead_server.scheduling.default_selectors import DefaultSelectors
from masthead_server.scheduling.exclusive_claims import ExclusiveClaimCheck
from masthead_server.scheduling.node_checks import AffinityCheck, PortCheck, ResourceCheck, TaintCheck
from masthead_server.scheduling.pod_affinity import PodAffinityCheck
from masthead_server.scheduling.pod_preferences import score_pod_affinity
from masthead_server.scheduling.rejections import Cure, Diagnosis
from masthead_server.scheduling.scores import score_affinity, score_resources, score_taints
from masthead_server.scheduling.topology_spread import TopologySpreadCheck, score_default_spread, score_spread
from masthead_server.scheduling.volumes import VolumeCheck, VolumeZoneCheck, read_claims

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from masthead_server.scheduling.node_checks import NodeCheck, PodAwareCheck
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.rejections import Rejection
    from masthead_server.scheduling.state import SchedulingState
    from masthead_server.scheduling.volumes import ClaimReader, PodClaims
    from masthead_server.wire.plain import Plain

__all__ = ["MIN_FEASIBLE", "PodChecks", "SchedulingAlgorithm"]

MIN_FEASIBLE: Final = 100
"""The number of feasible nodes that ends the search: kube-scheduler's minimum for any percentage."""
_TAINT_WEIGHT: Final = 3
_AFFINITY_WEIGHT: Final = 2
_SPREAD_WEIGHT: Final = 2
_POD_AFFINITY_WEIGHT: Final = 2


@dataclass(slots=True)
class PodChecks:
    """The checks of nodes for a pod.

    Attributes:
        pod: The pod.
        always: Checks of the node alone.
        pod_aware: Checks that count the pods of all nodes.
        exclusive_claims: The check of `always` that counts pods; None without conflicts.
        names: The nodes that the pod is limited to; None for no limit.
        limited_by: The reason of the limit, for the message.
        problem: The reason that rejects the pod on every node; empty without one.
        cures: The changes that may solve the problem.
        delayed_claims: Claims to bind once the pod has a node.
    """

    pod: SchedulingPod
    always: list[NodeCheck] = field(default_factory=list["NodeCheck"])
    pod_aware: list[PodAwareCheck] = field(default_factory=list["PodAwareCheck"])
    exclusive_claims: ExclusiveClaimCheck | None = None
    names: set[str] | None = None
    limited_by: str = ""
    problem: str = ""
    cures: Cure = Cure.NODE
    delayed_claims: list[Plain] = field(default_factory=list["Plain"])

    def check(self, node: SchedulingNode) -> Rejection | None:
        """Return the rejection of the first failing check; None if the node fits."""
        for check in self.always:
            rejection = check.check(node)
            if rejection is not None:
                return rejection
        for check in self.pod_aware:
            rejection = check.check(node)
            if rejection is not None:
                return rejection
        return None

    def adjust(self, pod: SchedulingPod, node: SchedulingNode, sign: int) -> None:
        """Add a pod to a node (1) or remove it (-1), hypothetically."""
        if sign > 0:
            node.add(pod)
        else:
            node.remove(pod)
        if self.exclusive_claims is not None:
            self.exclusive_claims.adjust(pod, node, sign)
        for check in self.pod_aware:
            check.adjust(pod, node, sign)


class SchedulingAlgorithm:
    """Chooses nodes.

    Args:
        state: The nodes and the pods on them.
        claims: Reads the claims of pods.
    """

    def __init__(self, state: SchedulingState, claims: ClaimReader) -> None:
        self._state = state
        self._claims = claims
        self._start = 0
        self.selectors = DefaultSelectors()
        """Services and workloads with default spreading of their pods."""
        self.waits_for_claims = False
        """Whether a pod waits for its claims to be bound, which needs a controller that binds them."""

    def prepare(self, pod: SchedulingPod) -> PodChecks:
        """Collect the checks for a pod, in kube-scheduler's order."""
        checks = PodChecks(pod)
        checks.always.append(TaintCheck(pod))
        if pod.facts.spec.node_selector or pod.affinity.node_terms is not None:
            checks.always.append(AffinityCheck(pod))
            checks.names, checks.limited_by = pod.affinity.node_names(), "NodeAffinity"
            if checks.names is not None and not checks.names:
                checks.problem = "pod affinity terms conflict"
                return checks
        if pod.ports:
            checks.always.append(PortCheck(pod))
        checks.always.append(ResourceCheck(pod))
        if self.waits_for_claims and pod.claims:
            claims = read_claims(pod, self._claims)
            if claims.problem:
                checks.problem, checks.cures = claims.problem, Cure.NODE | Cure.VOLUME
                return checks
            self._add_volume_checks(checks, claims)
        required = [constraint for constraint in pod.constraints if constraint.is_required]
        if required:
            checks.pod_aware.append(TopologySpreadCheck(pod, required, self._state))
        affinity = PodAffinityCheck(pod, self._state)
        if affinity.is_needed:
            checks.pod_aware.append(affinity)
        return checks

    def _add_volume_checks(self, checks: PodChecks, claims: PodClaims) -> None:
        checks.delayed_claims = claims.delayed
        exclusive = ExclusiveClaimCheck(checks.pod, self._state, self._claims)
        if exclusive.is_needed:
            # Before the other checks of volumes: pods report the first reason.
            checks.exclusive_claims = exclusive
            checks.always.append(exclusive)
        checks.always.append(VolumeCheck(claims, self._claims))
        zones = VolumeZoneCheck(claims.bound)
        if zones.is_needed:
            checks.always.append(zones)

    def choose(self, checks: PodChecks) -> SchedulingNode | Diagnosis:
        """Choose the node of a pod; return a diagnosis if no node fits."""
        nodes = self._state.nodes
        diagnosis = Diagnosis(len(nodes))
        if not nodes:
            return diagnosis
        if checks.problem:
            diagnosis.problem, diagnosis.cures = checks.problem, checks.cures
            return diagnosis
        # Preemption has made room on the nominated node; on another node, that would have been in vain.
        nominated = self._state.node(self._state.nominated_node(checks.pod.ref))
        if nominated is not None and self.check(checks, nominated) is None:
            return nominated
        feasible = self._find_feasible(checks, nodes, diagnosis)
        if feasible:
            return feasible[0] if len(feasible) == 1 else self._select_best(checks.pod, feasible)
        for rejection in diagnosis.nodes.values():
            diagnosis.cures |= rejection.cures
        return diagnosis

    def check(self, checks: PodChecks, node: SchedulingNode) -> Rejection | None:
        """Return the rejection of a node; None if it fits, with and without the pods nominated to it."""
        if not self._state.has_nominations:
            return checks.check(node)  # the usual case, and so the fast path
        pod = checks.pod
        coming = [
            other
            for other in self._state.nominated(node.name)
            if other.priority >= pod.priority and other.ref != pod.ref and other.ref not in node.pods
        ]
        # Nominated pods may never be bound there, and so the node has to fit with and without them.
        if coming:
            tried = node.copy()
            for other in coming:
                checks.adjust(other, tried, 1)
            rejection = checks.check(tried)
            for other in coming:
                checks.adjust(other, tried, -1)
            if rejection is not None:
                return rejection
        return checks.check(node)

    def _find_feasible(
        self, checks: PodChecks, nodes: Sequence[SchedulingNode], diagnosis: Diagnosis
    ) -> list[SchedulingNode]:
        feasible: list[SchedulingNode] = []
        examined = 0
        for node in self._candidates(checks, nodes, diagnosis):
            examined += 1
            rejection = self.check(checks, node)
            if rejection is not None:
                diagnosis.nodes[node.name] = rejection
                continue
            feasible.append(node)
            # In a large cluster, the best of a sample is nearly as good as the best of all nodes, and much faster.
            if len(feasible) >= MIN_FEASIBLE:
                break
        self._start = (self._start + examined) % len(nodes)
        return feasible

    def _candidates(
        self, checks: PodChecks, nodes: Sequence[SchedulingNode], diagnosis: Diagnosis
    ) -> Iterable[SchedulingNode]:
        if checks.names is None:
            # Continue from here with the next pod, so that every node gets its turn.
            start = self._start % len(nodes)
            return (*nodes[start:], *nodes[:start])
        diagnosis.absent = f"node(s) didn't satisfy plugin(s) [{checks.limited_by}]"
        named = (self._state.node(name) for name in sorted(checks.names))
        return [node for node in named if node is not None]

    def _select_best(self, pod: SchedulingPod, nodes: Sequence[SchedulingNode]) -> SchedulingNode:
        scores = [score_resources(pod, node) for node in nodes]
        for weight, found in self._score_preferences(pod, nodes):
            scores = [score + weight * value for score, value in zip(scores, found, strict=True)]
        best = max(scores)
        return min(
            (node for node, score in zip(nodes, scores, strict=True) if score == best), key=lambda node: node.name
        )

    def _score_preferences(
        self, pod: SchedulingPod, nodes: Sequence[SchedulingNode]
    ) -> Iterable[tuple[int, Sequence[int]]]:
        """Yield the scores of preferences that differ between nodes."""
        if any(node.soft_taints for node in nodes):
            yield _TAINT_WEIGHT, score_taints(pod, nodes)
        if pod.affinity.preferred_nodes:
            yield _AFFINITY_WEIGHT, score_affinity(pod, nodes)
        preferred = [constraint for constraint in pod.constraints if not constraint.is_required]
        if preferred:
            yield _SPREAD_WEIGHT, score_spread(pod, preferred, nodes, self._state)
        elif not pod.constraints and (selector := self.selectors.select(pod)) is not None:
            yield _SPREAD_WEIGHT, score_default_spread(pod, selector, nodes, self._state)
        found = score_pod_affinity(pod, nodes, self._state)
        if found is not None:
            yield _POD_AFFINITY_WEIGHT, found
