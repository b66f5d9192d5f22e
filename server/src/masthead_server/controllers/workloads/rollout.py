"""The rollout of a Deployment: the next number of replicas of each ReplicaSet. Pure decisions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.intstr import scaled_value
from masthead_server.wire.plain import Plain, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "DESIRED",
    "MAX",
    "REVISION",
    "ReplicaSetView",
    "Rollout",
    "next_new_size",
    "next_old_sizes",
    "scaled_sizes",
]

REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAX: Final = "deployment.kubernetes.io/max-replicas"


@dataclass(frozen=True, slots=True)
class Rollout:
    """The strategy of a Deployment, in numbers of pods.

    Attributes:
        replicas: The replicas of the Deployment.
        max_surge: The number of pods allowed above that.
        max_unavailable: The number of pods that may be unavailable.
        is_rolling: Whether the strategy is ``RollingUpdate``; otherwise old pods are deleted first.
    """

    replicas: int
    max_surge: int
    max_unavailable: int
    is_rolling: bool

    @classmethod
    def of(cls, deployment: Plain) -> Rollout:
        """Read the strategy of a Deployment; percentages of a surge are rounded up, others down."""
        spec = part(deployment, "spec")
        replicas = spec.get("replicas", 1)
        strategy = part(spec, "strategy")
        if strategy.get("type") == "Recreate":
            return cls(replicas, 0, 0, is_rolling=False)
        rolling = part(strategy, "rollingUpdate")
        surge = scaled_value(rolling.get("maxSurge", 0), replicas, round_up=True)
        unavailable = scaled_value(rolling.get("maxUnavailable", 0), replicas, round_up=False)
        # With both rounded down to 0, a rollout would never progress.
        if not surge and not unavailable:
            unavailable = 1
        return cls(replicas, surge, min(unavailable, replicas), is_rolling=True)

    @property
    def most(self) -> int:
        """How many pods there may be at a time."""
        return self.replicas + self.max_surge


@dataclass(frozen=True, slots=True)
class ReplicaSetView:
    """The fields of a ReplicaSet that a rollout needs.

    Attributes:
        content: The object.
    """

    content: Plain

    @property
    def name(self) -> str:
        """Its name."""
        return text(metadata(self.content), "name")

    @property
    def replicas(self) -> int:
        """How many pods it calls for."""
        return int(part(self.content, "spec").get("replicas", 1))

    def count(self, field: str) -> int:
        """Return a number of the status."""
        return int(part(self.content, "status").get(field, 0))

    @property
    def is_observed(self) -> bool:
        """Whether its controller has written its status."""
        return bool(self.count("observedGeneration"))

    @property
    def available(self) -> int:
        """How many of its pods are available."""
        return self.count("availableReplicas")

    @property
    def age(self) -> tuple[str, str]:
        """Sorts the oldest first."""
        return (text(metadata(self.content), "creationTimestamp"), self.name)

    def annotated(self, annotation: str) -> int:
        """Return the number in an annotation; 0 if it is missing."""
        written = text(part(metadata(self.content), "annotations"), annotation)
        return int(written) if written.isascii() and written.isdigit() else 0


def next_new_size(rollout: Rollout, new: ReplicaSetView | None, old: Iterable[ReplicaSetView]) -> int:
    """Return the next number of replicas of the new ReplicaSet, which is None before its creation."""
    present = new.replicas if new else 0
    if not rollout.is_rolling or present >= rollout.replicas:
        return rollout.replicas
    room = rollout.most - present - sum(replica_set.replicas for replica_set in old)
    return present + max(0, min(room, rollout.replicas - present))


def next_old_sizes(rollout: Rollout, new: ReplicaSetView, old: Sequence[ReplicaSetView]) -> dict[str, int]:
    """Return how many replicas the old ReplicaSets have next, by name."""
    sizes = {replica_set.name: replica_set.replicas for replica_set in sorted(old, key=lambda each: each.age)}
    if not rollout.is_rolling:
        return dict.fromkeys(sizes, 0)
    available = {replica_set.name: replica_set.available for replica_set in old}
    least = rollout.replicas - rollout.max_unavailable
    total = new.replicas + sum(sizes.values())
    spare = total - least - (new.replicas - new.available)
    # Unavailable pods are no loss, and so are deleted first.
    for name, size in sizes.items():
        taken = max(0, min(spare, size - available[name]))
        sizes[name] -= taken
        spare -= taken
    surplus = new.available + sum(available.values()) - least
    for name, size in sizes.items():
        taken = max(0, min(surplus, spare, size))
        sizes[name] -= taken
        surplus -= taken
        spare -= taken
    return sizes


def scaled_sizes(
    rollout: Rollout, new: ReplicaSetView | None, old: Sequence[ReplicaSetView], *, before: int
) -> dict[str, int]:
    """Return how many replicas each ReplicaSet has after the Deployment was scaled, by name.

    In the middle of a rollout, the change is shared in proportion to the sizes.

    Args:
        rollout: What the Deployment allows now.
        new: The new ReplicaSet, if there is one.
        old: The others.
        before: How many pods there are, for ReplicaSets that do not say how many there could be.
    """
    everything = [*old, new] if new else list(old)
    active = [replica_set for replica_set in everything if replica_set.replicas]
    if len(active) <= 1:
        latest = active[0] if active else new or max(old, key=lambda each: each.age, default=None)
        return {latest.name: rollout.replicas} if latest else {}
    if new is not None and _is_saturated(rollout, new):
        return {replica_set.name: 0 for replica_set in old if replica_set.replicas}
    if not rollout.is_rolling:
        return {}
    return _scale_proportionally(rollout, active, before)


def _is_saturated(rollout: Rollout, new: ReplicaSetView) -> bool:
    return new.replicas == new.annotated(DESIRED) == new.available == rollout.replicas


def _scale_proportionally(rollout: Rollout, active: Sequence[ReplicaSetView], before: int) -> dict[str, int]:
    change = (rollout.most if rollout.replicas else 0) - sum(replica_set.replicas for replica_set in active)
    by_age = sorted(active, key=lambda each: each.age, reverse=change > 0)
    ordered = sorted(by_age, key=lambda each: -each.replicas)
    sizes = {replica_set.name: replica_set.replicas for replica_set in ordered}
    left = change
    for replica_set in ordered:
        share = _share(rollout, replica_set, before)
        taken = min(share, left) if change > 0 else max(share, left)
        sizes[replica_set.name] += taken
        left -= taken
    largest = ordered[0].name
    sizes[largest] = max(0, sizes[largest] + left)
    return sizes


def _share(rollout: Rollout, found: ReplicaSetView, before: int) -> int:
    """How many replicas a ReplicaSet gains or loses, if it keeps its proportion."""
    if not rollout.replicas:
        return -found.replicas
    most_before = found.annotated(MAX) or before
    if not most_before:
        return 0
    # Halves are rounded up; Python's round would choose the even neighbour.
    return math.floor(found.replicas * rollout.most / most_before + 0.5) - found.replicas
