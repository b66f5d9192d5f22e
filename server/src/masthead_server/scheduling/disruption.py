"""PodDisruptionBudgets, for the choice of victims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead._meta.labels import from_label_selector
from masthead._meta.v1 import LabelSelector
from masthead.errors import SelectorError
from masthead_server.wire.plain import Plain, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from masthead_server.scheduling.pods import SchedulingPod

__all__ = ["DisruptionBudget", "split_by_budgets"]


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A budget.

    Attributes:
        namespace: Its namespace.
        matches: Tells whether labels match its selector.
        allowed: The number of pods that may be disrupted.
        disrupted: Pods whose disruption already counts.
    """

    namespace: str
    matches: Callable[[Mapping[str, str]], bool]
    allowed: int
    disrupted: frozenset[str]

    @classmethod
    def of(cls, found: Plain) -> DisruptionBudget | None:
        """Read a PodDisruptionBudget; None if it selects no pods."""
        written, status = part(part(found, "spec"), "selector"), part(found, "status")
        if not written.get("matchLabels") and not written.get("matchExpressions"):
            return None
        try:
            selector = from_label_selector(LabelSelector.from_dict(written))
        except SelectorError:
            return None
        return cls(
            text(metadata(found), "namespace"),
            selector.matches,
            int(status.get("disruptionsAllowed") or 0),
            frozenset(part(status, "disruptedPods")),
        )


def split_by_budgets(
    pods: Iterable[SchedulingPod], budgets: Sequence[DisruptionBudget]
) -> tuple[list[SchedulingPod], list[SchedulingPod]]:
    """Separate the pods whose disruption would violate a budget from the others; both keep their order."""
    left = [budget.allowed for budget in budgets]
    violating: list[SchedulingPod] = []
    others: list[SchedulingPod] = []
    for pod in pods:
        is_violating = False
        for number, budget in enumerate(budgets):
            if budget.namespace != pod.namespace or pod.name in budget.disrupted or not pod.labels:
                continue
            # As in kube-scheduler, a pod counts in all its budgets, even if one of them is exhausted.
            if budget.matches(pod.labels):
                left[number] -= 1
                is_violating = is_violating or left[number] < 0
        (violating if is_violating else others).append(pod)
    return violating, others
