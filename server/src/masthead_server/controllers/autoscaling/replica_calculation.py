"""The number of replicas that a metric calls for. Amounts are thousandths, as in kube-controller-manager."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "MetricError",
    "PodGroups",
    "Proposal",
    "ScaledPods",
    "Tolerances",
    "count_ready",
    "group_pods",
    "propose_by_ratio",
    "propose_by_usage",
    "propose_by_utilization",
    "propose_per_pod",
]

_MAX_REPLICAS: Final = 2**31 - 1
_WINDOW: Final = timedelta(seconds=15)
"""The window over which metrics-server averages a sample."""
_INITIALIZATION: Final = timedelta(minutes=5)
_READINESS_DELAY: Final = timedelta(seconds=30)
_CPU: Final = "cpu"
_NO_PODS: Final = "no pods returned by selector while calculating replica count"


class MetricError(Exception):
    """A metric cannot be evaluated, because samples, requests or pods are missing."""


class Tolerances(NamedTuple):
    """The deviation from the target, as a fraction of it, that does not yet cause scaling."""

    down: float
    up: float

    def is_within(self, ratio: float) -> bool:
        """Whether a ratio of usage to target is close enough to 1."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class ScaledPods(NamedTuple):
    """The target of an autoscaler.

    Attributes:
        pods: Its pods.
        replicas: The number of replicas in its spec.
        present: The number of replicas in its status.
        tolerances: The tolerated deviation from the target.
        now: The time.
    """

    pods: Sequence[Plain]
    replicas: int
    present: int
    tolerances: Tolerances
    now: datetime


class Proposal(NamedTuple):
    """The proposal of a metric.

    Attributes:
        replicas: The replicas.
        usage: The average or total usage in the status.
        utilization: The usage in percent of the requests; None unless the target is a percentage.
    """

    replicas: int
    usage: int
    utilization: int | None = None


class PodGroups(NamedTuple):
    """Pods by how their samples count.

    Attributes:
        ready: The number of pods with a sample that counts.
        unready: Pods that are pending or still starting.
        missing: Pods without a sample.
        ignored: Pods in deletion, and failed pods.
    """

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def group_pods(pods: Sequence[Plain], sampled: Iterable[str], resource: str, now: datetime) -> PodGroups:
    """Group the pods of a selector.

    Args:
        pods: The pods.
        sampled: The names of the pods with a sample.
        resource: The name of a resource metric; CPU samples of starting pods do not count.
        now: The time.
    """
    groups: dict[str, set[str]] = {"ready": set(), "unready": set(), "missing": set(), "ignored": set()}
    known = frozenset(sampled)
    for pod in pods:
        name, phase = text(metadata(pod), "name"), text(part(pod, "status"), "phase")
        if is_being_deleted(pod) or phase == "Failed":
            group = "ignored"
        elif phase == "Pending":
            group = "unready"
        elif name not in known:
            group = "missing"
        else:
            group = "unready" if resource == _CPU and _is_settling(part(pod, "status"), now) else "ready"
        groups[group].add(name)
    unready, missing, ignored = (frozenset(groups[name]) for name in ("unready", "missing", "ignored"))
    return PodGroups(len(groups["ready"]), unready, missing, ignored)


def _is_settling(status: Plain, now: datetime) -> bool:
    """Whether a pod is still starting, when its CPU usage is not representative."""
    ready = next((found for found in items(status, "conditions") if found.get("type") == "Ready"), None)
    if ready is None or not text(status, "startTime"):
        return True
    started = datetime.fromisoformat(text(status, "startTime"))
    changed = datetime.fromisoformat(text(ready, "lastTransitionTime") or text(status, "startTime"))
    is_unready = ready.get("status") == "False"
    if started + _INITIALIZATION > now:
        return is_unready or now < changed + _WINDOW
    return is_unready and started + _READINESS_DELAY > changed


def propose_by_utilization(
    scaled: ScaledPods,
    samples: Mapping[str, int],
    requests_of: Callable[[], Mapping[str, int]],
    resource: str,
    target: int,
) -> Proposal:
    """Return the replicas for a target in percent of the requests.

    Args:
        scaled: The target.
        samples: The usage by pod.
        requests_of: Returns the requests by pod.
        resource: The resource.
        target: The percentage.

    Raises:
        MetricError: If pods, samples or requests are missing.
    """
    counted, groups = _select_samples(scaled, samples, resource)
    requests = requests_of()

    def measure(values: Mapping[str, int]) -> tuple[float, int, int]:
        of_known = [name for name in values if name in requests]
        requested, used = sum(requests[name] for name in of_known), sum(values[name] for name in of_known)
        if not requested:
            raise MetricError("no metrics returned matched known pods")
        percent = used * 100 // requested
        return percent / target, percent, used // len(of_known)

    _, percent, usage = measure(counted)
    fallback = max(100, target)
    replicas = _propose(
        scaled,
        counted,
        groups,
        ratio_of=lambda values: measure(values)[0],
        assumed=lambda name: requests[name] * fallback // 100,
    )
    return Proposal(replicas, usage, percent)


def propose_by_usage(scaled: ScaledPods, samples: Mapping[str, int], resource: str, target: int) -> Proposal:
    """Return the replicas for a target per pod.

    Args:
        scaled: The target.
        samples: The usage by pod.
        resource: The resource; empty for another metric.
        target: The average.

    Raises:
        MetricError: If pods or samples are missing.
    """
    counted, groups = _select_samples(scaled, samples, resource)

    def average(values: Mapping[str, int]) -> int:
        return sum(values.values()) // len(values)

    replicas = _propose(
        scaled,
        counted,
        groups,
        ratio_of=lambda values: average(values) / target,
        assumed=lambda _: target,
    )
    return Proposal(replicas, average(counted))


def _select_samples(scaled: ScaledPods, samples: Mapping[str, int], resource: str) -> tuple[dict[str, int], PodGroups]:
    if not scaled.pods:
        raise MetricError(_NO_PODS)
    groups = group_pods(scaled.pods, samples, resource, scaled.now)
    counted = {name: value for name, value in samples.items() if name not in groups.ignored | groups.unready}
    if not counted:
        raise MetricError("did not receive metrics for targeted pods (pods might be unready)")
    return counted, groups


def _propose(
    scaled: ScaledPods,
    counted: Mapping[str, int],
    groups: PodGroups,
    *,
    ratio_of: Callable[[Mapping[str, int]], float],
    assumed: Callable[[str], int],
) -> int:
    """Return the replicas for the samples that count, with conservative assumptions for the other pods."""
    current, tolerances, ratio = scaled.replicas, scaled.tolerances, ratio_of(counted)
    adds_unready = bool(groups.unready) and ratio > 1.0
    if not adds_unready and not groups.missing:
        return current if tolerances.is_within(ratio) else math.ceil(ratio * groups.ready)
    values = dict(counted)
    # Assume no usage of pods without a sample before scaling up, and the target before scaling down.
    if ratio < 1.0:
        values.update({name: assumed(name) for name in groups.missing})
    elif ratio > 1.0:
        values.update(dict.fromkeys(groups.missing, 0))
    if adds_unready:
        values.update(dict.fromkeys(groups.unready, 0))
    again = ratio_of(values)
    if tolerances.is_within(again) or _is_reversal(ratio, again):
        return current
    replicas = math.ceil(again * len(values))
    # The assumptions must not reverse the direction.
    turns = (again < 1.0 and replicas > current) or (again > 1.0 and replicas < current)
    return current if turns else replicas


def _is_reversal(before: float, after: float) -> bool:
    return (before < 1.0 < after) or (after < 1.0 < before)


def count_ready(pods: Sequence[Plain]) -> int:
    """Return the number of running and ready pods.

    Raises:
        MetricError: If there are no pods.
    """
    if not pods:
        raise MetricError(f"unable to calculate ready pods: {_NO_PODS}")
    return sum(
        text(part(pod, "status"), "phase") == "Running"
        and any(
            found.get("type") == "Ready" and found.get("status") == "True"
            for found in items(part(pod, "status"), "conditions")
        )
        for pod in pods
    )


def propose_by_ratio(scaled: ScaledPods, usage: int, target: int) -> Proposal:
    """Return the replicas for a value whose ratio to the target scales the ready pods.

    Raises:
        MetricError: If there are no pods.
    """
    ratio = usage / target
    if not scaled.replicas:
        return Proposal(math.ceil(ratio), usage)
    if scaled.tolerances.is_within(ratio):
        return Proposal(scaled.replicas, usage)
    return Proposal(min(math.ceil(ratio * count_ready(scaled.pods)), _MAX_REPLICAS), usage)


def propose_per_pod(scaled: ScaledPods, usage: int, target: int) -> Proposal:
    """Return the replicas for a value that divides among the pods."""
    present = scaled.present
    if present and scaled.tolerances.is_within(usage / (target * present)):
        return Proposal(present, math.ceil(usage / present))
    return Proposal(min(math.ceil(usage / target), _MAX_REPLICAS), math.ceil(usage / present) if present else usage)
