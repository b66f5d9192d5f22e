"""Why nodes do not fit, and the message for all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Cure", "Diagnosis", "Rejection", "describe_nodes"]


class Cure(Flag):
    """The kinds of change after which a pod may fit."""

    NODE = auto()
    """A node came or changed."""
    POD_REMOVED = auto()
    """A pod went from its node, or uses less."""
    POD_ADDED = auto()
    """A pod came to a node, or its labels changed."""
    VOLUME = auto()
    """A claim, a volume or a storage class changed."""
    NAMESPACE = auto()
    """The labels of a namespace changed."""


class Rejection(NamedTuple):
    """Why a node does not fit.

    Attributes:
        reasons: The reasons, in the words of the real scheduler.
        cures: The changes that may help.
        is_final: Whether removing pods from the node cannot help.
    """

    reasons: tuple[str, ...]
    cures: Cure
    is_final: bool = False


@dataclass(slots=True)
class Diagnosis:
    """Why no node fits a pod.

    Attributes:
        count: How many nodes there are.
        nodes: The rejections by node.
        absent: The reason of all nodes that were not looked at; empty for none.
        problem: What rejects the pod whatever the node; empty for nothing.
        cures: The changes that may help.
    """

    count: int
    nodes: dict[str, Rejection] = field(default_factory=dict[str, Rejection])
    absent: str = ""
    problem: str = ""
    cures: Cure = Cure.NODE

    def describe(self, preemption: str = "") -> str:
        """Return the message of the condition.

        Args:
            preemption: What came of the attempt to preempt pods.
        """
        if not self.count:
            return "no nodes available to schedule pods"
        if self.problem:
            text = f"0/{self.count} nodes are available: {self.problem}."
        else:
            text = describe_nodes(self.count, {name: found.reasons for name, found in self.nodes.items()}, self.absent)
        return f"{text} {preemption}" if preemption else text


def describe_nodes(count: int, reasons: Mapping[str, Iterable[str]], absent: str) -> str:
    """Return how many nodes have which reason; the lines are sorted as text, and so 10 comes before 2."""
    histogram = Counter(reason for found in reasons.values() for reason in found)
    if absent and len(reasons) < count:
        histogram[absent] += count - len(reasons)
    lines = sorted(f"{number} {reason}" for reason, number in histogram.items())
    text = f"0/{count} nodes are available:"
    return f"{text} {', '.join(lines)}." if lines else text
