"""Reasons why nodes do not fit, and their summary in a message."""

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
    """A node was created or changed."""
    POD_REMOVED = auto()
    """A pod on a node was removed, or uses less."""
    POD_ADDED = auto()
    """A pod was bound to a node, or its labels changed."""
    VOLUME = auto()
    """A claim, volume or storage class changed."""
    NAMESPACE = auto()
    """The labels of a namespace changed."""


class Rejection(NamedTuple):
    """The rejection of a node.

    Attributes:
        reasons: The reasons, in kube-scheduler's words.
        cures: The changes after which the pod may fit.
        is_final: Whether removing pods from the node cannot help.
    """

    reasons: tuple[str, ...]
    cures: Cure
    is_final: bool = False


@dataclass(slots=True)
class Diagnosis:
    """The rejections of all nodes for a pod.

    Attributes:
        count: The number of nodes.
        nodes: The rejections by node.
        absent: The reason of all nodes that were not checked; empty for none.
        problem: The reason that rejects the pod on every node; empty without one.
        cures: The changes after which the pod may fit.
    """

    count: int
    nodes: dict[str, Rejection] = field(default_factory=dict[str, Rejection])
    absent: str = ""
    problem: str = ""
    cures: Cure = Cure.NODE

    def describe(self, preemption: str = "") -> str:
        """Return the message of the condition.

        Args:
            preemption: The message of the preemption.
        """
        if not self.count:
            return "no nodes available to schedule pods"
        if self.problem:
            text = f"0/{self.count} nodes are available: {self.problem}."
        else:
            text = describe_nodes(self.count, {name: found.reasons for name, found in self.nodes.items()}, self.absent)
        return f"{text} {preemption}" if preemption else text


def describe_nodes(count: int, reasons: Mapping[str, Iterable[str]], absent: str) -> str:
    """Count the nodes by reason; as in kube-scheduler, the parts are sorted as text, so that 10 precedes 2."""
    histogram = Counter(reason for found in reasons.values() for reason in found)
    if absent and len(reasons) < count:
        histogram[absent] += count - len(reasons)
    lines = sorted(f"{number} {reason}" for reason, number in histogram.items())
    text = f"0/{count} nodes are available:"
    return f"{text} {', '.join(lines)}." if lines else text
