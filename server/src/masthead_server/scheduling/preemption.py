"""Preemption: the choice of pods of lower priority to delete for a pod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.scheduling.disruption import DisruptionBudget, split_by_budgets
from masthead_server.scheduling.rejections import Rejection, describe_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.scheduling.algorithm import PodChecks, SchedulingAlgorithm
    from masthead_server.scheduling.nodes import SchedulingNode
    from masthead_server.scheduling.pods import SchedulingPod
    from masthead_server.scheduling.rejections import Diagnosis
    from masthead_server.scheduling.state import SchedulingState

__all__ = ["PREEMPTED_BY_SCHEDULER", "PreemptionEvaluator", "PreemptionOutcome"]

PREEMPTED_BY_SCHEDULER: Final = "PreemptionByScheduler"
"""The reason of the condition DisruptionTarget of a preempted pod."""
_PREFIX: Final = "no new claims to deallocate, preemption: "
"""The messages of kube-scheduler's two PostFilter plugins; there are no ResourceClaims to deallocate."""
_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
_NO_VICTIMS: Final = "No preemption victims found for incoming pod"
_MIN_CANDIDATES: Final = 100
_CANDIDATE_PERCENTAGE: Final = 10
"""The number of candidates to compare: a tenth of all possible nodes, and at least 100."""
_NOT_STARTED: Final = "~"
"""Sorts after every time: a pod without a start time counts as started now."""
_PRIORITY_OFFSET: Final = 2**31


class PreemptionOutcome(NamedTuple):
    """The result of a preemption.

    Attributes:
        message: The reason of a failure; empty after a success.
        nominated: The nominated node; empty for none, None for no change.
        victims: The pods to preempt.
    """

    message: str
    nominated: str | None
    victims: Sequence[SchedulingPod] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    node: str
    victims: Sequence[SchedulingPod]
    violations: int

    def rank(self) -> tuple[int, int, int, int, tuple[int, ...], str]:
        """Sort key: fewer violations, lower priorities, fewer victims, younger victims."""
        highest = self.victims[0].priority
        earliest = min(pod.started or _NOT_STARTED for pod in self.victims if pod.priority == highest)
        return (
            self.violations,
            highest,
            sum(pod.priority + _PRIORITY_OFFSET for pod in self.victims),
            len(self.victims),
            # A later start is better, and so the text is compared in reverse.
            tuple(-ord(character) for character in earliest),
            self.node,
        )


class PreemptionEvaluator:
    """Finds victims whose deletion lets a pod fit.

    Args:
        algorithm: Decides whether a pod fits.
        state: The nodes and the pods on them.
    """

    def __init__(self, algorithm: SchedulingAlgorithm, state: SchedulingState) -> None:
        self._algorithm = algorithm
        self._state = state

    def evaluate(
        self, checks: PodChecks, diagnosis: Diagnosis, budgets: Sequence[DisruptionBudget]
    ) -> PreemptionOutcome:
        """Choose a node and its victims.

        Args:
            checks: The checks of the unschedulable pod.
            diagnosis: The rejections of the nodes.
            budgets: The disruption budgets, which are violated as a last resort.
        """
        if not diagnosis.count:
            return PreemptionOutcome("", "")
        problem = self._find_ineligibility(checks.pod, diagnosis)
        if problem:
            return PreemptionOutcome(f"{_PREFIX}{problem}", None)
        candidates, rejections = self._find_candidates(checks, diagnosis, budgets)
        if not candidates:
            reasons = {name: found.reasons for name, found in rejections.items()}
            return PreemptionOutcome(f"{_PREFIX}{describe_nodes(diagnosis.count, reasons, _NOT_HELPFUL)}", "")
        best = min(candidates, key=_Candidate.rank)
        return PreemptionOutcome("", best.node, best.victims)

    def _find_ineligibility(self, pod: SchedulingPod, diagnosis: Diagnosis) -> str:
        if pod.facts.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        name = self._state.nominated_node(pod.ref)
        node = self._state.node(name)
        rejection = diagnosis.nodes.get(name)
        # The node was rejected for good: do not wait for the victims that terminate there.
        if node is None or (rejection is not None and rejection.is_final):
            return ""
        if any(other.priority < pod.priority and _is_being_preempted(other) for other in node.pods.values()):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _find_candidates(
        self, checks: PodChecks, diagnosis: Diagnosis, budgets: Sequence[DisruptionBudget]
    ) -> tuple[list[_Candidate], dict[str, Rejection]]:
        possible = [name for name, rejection in diagnosis.nodes.items() if not rejection.is_final]
        limit = max(_MIN_CANDIDATES, len(possible) * _CANDIDATE_PERCENTAGE // 100)
        candidates: list[_Candidate] = []
        rejections: dict[str, Rejection] = {}
        for name in possible:
            node = self._state.node(name)
            if node is None:
                continue
            found = self._select_victims(checks, node.copy(), budgets)
            if isinstance(found, Rejection):
                rejections[name] = found
                continue
            candidates.append(found)
            # Enough candidates end the search, once one of them violates no budget.
            if len(candidates) >= limit and not all(candidate.violations for candidate in candidates):
                break
        return candidates, rejections

    def _select_victims(
        self, checks: PodChecks, node: SchedulingNode, budgets: Sequence[DisruptionBudget]
    ) -> _Candidate | Rejection:
        """Find the least important pods of a node whose deletion lets the pod fit.

        Args:
            checks: The checks of the pod.
            node: A copy of the node.
            budgets: The disruption budgets.
        """
        possible = [other for other in node.pods.values() if other.priority < checks.pod.priority]
        if not possible:
            return Rejection((_NO_VICTIMS,), checks.cures, is_final=True)
        # Remove all potential victims first: the pod has to fit then.
        for other in possible:
            checks.adjust(other, node, -1)
        absent = {other.ref: other for other in possible}
        try:
            rejection = self._algorithm.check(checks, node)
            if rejection is not None:
                return rejection
            possible.sort(key=_importance)
            violating, harmless = split_by_budgets(possible, budgets)
            violations = 0
            # Then reprieve as many as possible: pods with a budget first, and more important pods before others.
            for number, other in enumerate((*violating, *harmless)):
                checks.adjust(other, node, 1)
                if self._algorithm.check(checks, node) is None:
                    del absent[other.ref]
                else:
                    checks.adjust(other, node, -1)
                    violations += number < len(violating)
        finally:
            # Restore the counts, which the checks of all nodes share.
            for other in absent.values():
                checks.adjust(other, node, 1)
        return _Candidate(node.name, sorted(absent.values(), key=_importance), violations)


def _importance(pod: SchedulingPod) -> tuple[int, str]:
    return -pod.priority, pod.started or _NOT_STARTED


def _is_being_preempted(pod: SchedulingPod) -> bool:
    return pod.is_terminating and any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == PREEMPTED_BY_SCHEDULER
        for condition in pod.facts.status.conditions or ()
    )
