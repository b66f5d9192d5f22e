"""The next pods of a StatefulSet to create and delete, in the order of their ordinals. Pure decisions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import Plain, part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from masthead_server.controllers.workloads.dependents import Dependent

__all__ = ["POD_NAME", "REVISION", "StatefulPlan", "StatefulSettings", "count_replicas", "plan_pods"]

REVISION = "controller-revision-hash"
_BURST: Final = 500
"""The maximum number of pods to create in one step: a Parallel set may have two thousand million replicas."""
POD_NAME = "statefulset.kubernetes.io/pod-name"


@dataclass(frozen=True, slots=True)
class StatefulSettings:
    """The settings of a StatefulSet for its pods.

    Attributes:
        ordinals: The ordinals of the replicas.
        is_parallel: Whether the pod management policy is ``Parallel``.
        is_rolling: Whether the update strategy is ``RollingUpdate``.
        partition: The number of pods, from the first on, that keep the old revision.
        min_ready: The time after which a ready pod counts as available.
    """

    ordinals: range
    is_parallel: bool
    is_rolling: bool
    partition: int
    min_ready: timedelta

    @classmethod
    def of(cls, spec: Plain) -> StatefulSettings:
        """Read a spec."""
        start = part(spec, "ordinals").get("start", 0)
        strategy = part(spec, "updateStrategy")
        return cls(
            range(start, start + spec.get("replicas", 1)),
            spec.get("podManagementPolicy") == "Parallel",
            strategy.get("type") != "OnDelete",
            int(part(strategy, "rollingUpdate").get("partition", 0)),
            timedelta(seconds=spec.get("minReadySeconds", 0)),
        )

    def is_available(self, pod: Dependent, now: datetime) -> bool:
        """Tell whether a pod has been ready for ``min_ready``."""
        since = pod.ready_since
        return since is not None and now - since >= self.min_ready

    def is_old(self, ordinal: int) -> bool:
        """Tell whether a new pod of this ordinal gets the old revision."""
        return ordinal < self.ordinals.start + self.partition


@dataclass(slots=True)
class StatefulPlan:
    """The pods to create and delete.

    Attributes:
        create: The ordinals of pods to create.
        delete: The ordinals of pods to delete.
        pending: The ordinals of pods that may lack claims.
        relabel: The ordinals of adopted pods, which lack the labels of their name.
        is_stale: Whether a pod waits for the deletion of its predecessor's claim.
    """

    create: list[int] = field(default_factory=list[int])
    delete: list[int] = field(default_factory=list[int])
    pending: list[int] = field(default_factory=list[int])
    relabel: list[int] = field(default_factory=list[int])
    is_stale: bool = False


def plan_pods(
    settings: StatefulSettings,
    pods: Mapping[int, Dependent],
    update: str,
    now: datetime,
    has_stale_claim: Callable[[int], bool],
) -> StatefulPlan:
    """Plan the next step.

    Args:
        settings: The settings.
        pods: The pods by their ordinals.
        update: The name of the newest revision.
        now: The time.
        has_stale_claim: Tells whether the claim of a pod to create belongs to a deleted one.
    """
    plan = StatefulPlan()
    if _plan_replicas(plan, settings, pods, now, has_stale_claim) and _plan_condemned(plan, settings, pods, now):
        _plan_update(plan, settings, pods, update, now)
    return plan


def _plan_replicas(
    plan: StatefulPlan,
    settings: StatefulSettings,
    pods: Mapping[int, Dependent],
    now: datetime,
    has_stale_claim: Callable[[int], bool],
) -> bool:
    """Plan the replicas; return whether the surplus pods are next."""
    for ordinal in settings.ordinals:
        pod = pods.get(ordinal)
        if pod is None and has_stale_claim(ordinal):
            plan.is_stale = True
        elif pod is None:
            plan.create.append(ordinal)
            if len(plan.create) == _BURST:
                return False
        elif pod.is_finished:
            # The successor can be created after the deletion.
            if not pod.is_terminating:
                plan.delete.append(ordinal)
        else:
            if pod.status.phase == "Pending":
                plan.pending.append(ordinal)
            is_settled = _is_settled(settings, pod, now)
            if pod.metadata.labels.get(POD_NAME) != pod.metadata.name and (is_settled or settings.is_parallel):
                plan.relabel.append(ordinal)
            if is_settled:
                continue
        if not settings.is_parallel:
            return False
    return True


def _is_settled(settings: StatefulSettings, pod: Dependent, now: datetime) -> bool:
    """Tell whether a pod is running, ready and available, so that the next pod need not wait."""
    is_running = pod.status.phase == "Running" and pod.ready_since is not None
    return is_running and not pod.is_terminating and settings.is_available(pod, now)


def _plan_condemned(
    plan: StatefulPlan, settings: StatefulSettings, pods: Mapping[int, Dependent], now: datetime
) -> bool:
    """Plan the deletion of surplus pods, the last one first; return whether an update may continue."""
    condemned = sorted((ordinal for ordinal in pods if ordinal not in settings.ordinals), reverse=True)
    unavailable = (
        ordinal
        for ordinal in chain(settings.ordinals, reversed(condemned))
        if (pod := pods.get(ordinal)) is None or pod.is_terminating or not settings.is_available(pod, now)
    )
    first_unavailable = next(unavailable, None)
    for ordinal in condemned:
        pod = pods[ordinal]
        if settings.is_parallel:
            if not pod.is_terminating:
                plan.delete.append(ordinal)
            continue
        # As in kube-controller-manager, an unhealthy pod blocks scaling down unless it is the first unhealthy one.
        if not pod.is_terminating and (ordinal == first_unavailable or _is_settled(settings, pod, now)):
            plan.delete.append(ordinal)
        return False
    return True


def _plan_update(
    plan: StatefulPlan, settings: StatefulSettings, pods: Mapping[int, Dependent], update: str, now: datetime
) -> None:
    """Plan the replacement of the last old pod, once all pods after it are new and available."""
    if not settings.is_rolling:
        return
    for ordinal in reversed(settings.ordinals[settings.partition :]):
        pod = pods.get(ordinal)
        if pod is not None and not pod.is_terminating and pod.metadata.labels.get(REVISION) != update:
            if ordinal not in plan.delete:
                plan.delete.append(ordinal)
            return
        if pod is None or pod.is_terminating or not settings.is_available(pod, now):
            return


def count_replicas(
    settings: StatefulSettings, pods: Mapping[int, Dependent], current: str, update: str, now: datetime
) -> Plain:
    """Return the counts and revisions of the status; the counts of a revision exclude terminating pods."""
    ready = [pod for pod in pods.values() if pod.status.phase == "Running" and pod.ready_since is not None]
    revisions = [pod.metadata.labels.get(REVISION) for pod in pods.values() if not pod.is_terminating]
    updated, wanted = revisions.count(update), len(settings.ordinals)
    is_complete = settings.is_rolling and updated == len(ready) == len(pods) == wanted
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": updated if is_complete else revisions.count(current),
        "updatedReplicas": updated,
    }
    return {
        "replicas": len(pods),
        **{name: count for name, count in counts.items() if count},
        "currentRevision": update if is_complete else current,
        "updateRevision": update,
        "availableReplicas": sum(settings.is_available(pod, now) for pod in ready),
    }
