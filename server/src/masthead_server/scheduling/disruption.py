"""PodDisruptionBudgets, as far as preemption heeds them."""

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
        allowed: How many pods may be disrupted.
        disrupted: Pods whose disruption is counted already.
    """

    namespace: str
    matches: Callable[[Mapping[str, str]], bool]
    allowed: int
    disrupted: frozenset[str]

    @classmethod
    def of(cls, found: Plain) -> DisruptionBudget | None:
        """Read a PodDisruptionBudget; None if it is about no pods."""
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
    """Return the pods whose end would violate a budget, and the others; both in the order of `pods`."""
    left = [budget.allowed for budget in budgets]
    violating: list[SchedulingPod] = []
    others: list[SchedulingPod] = []
    for pod in pods:
        is_violating = False
        for number, budget in enumerate(budgets):
            if budget.namespace != pod.namespace or pod.name in budget.disrupted or not pod.labels:
                continue
            # Every budget of the pod pays, even after one is exhausted: the next pods find less of the others.
            if budget.matches(pod.labels):
                left[number] -= 1
                is_violating = is_violating or left[number] < 0
        (violating if is_violating else others).append(pod)
    return violating, others
