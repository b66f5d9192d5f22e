"""Decisions of the DaemonSet controller: which pods to create and to delete, and the counts of its status."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._meta.intstr import scaled_value
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.controllers.workloads.dependents import Dependent
    from masthead_server.controllers.workloads.node_eligibility import Eligibility
    from masthead_server.wire.plain import Plain

__all__ = [
    "REVISION_HASH",
    "DaemonPod",
    "DaemonPlan",
    "RolloutLimits",
    "count_pods",
    "plan_nodes",
    "plan_rollout",
    "read_limits",
    "target_of",
]

REVISION_HASH: Final = "controller-revision-hash"
_NAME_FIELD: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class DaemonPod:
    """A pod of a DaemonSet.

    Attributes:
        ref: The stored pod.
        pod: Its decoded fields.
        is_available: Whether it has been ready for ``minReadySeconds``.
    """

    ref: ObjectRef
    pod: Dependent
    is_available: bool

    def has_hash(self, revision_hash: str) -> bool:
        """Tell whether its template is that of a revision."""
        return self.pod.metadata.labels.get(REVISION_HASH) == revision_hash

    @property
    def rank(self) -> tuple[bool, str, str]:
        """Sort key among the pods of a node: bound pods first, then the oldest."""
        return (not self.pod.spec.node_name, self.pod.metadata.creation_timestamp, self.pod.metadata.name)


@dataclass(slots=True)
class DaemonPlan:
    """The pods to create and delete.

    Attributes:
        create: The nodes to create a pod for.
        delete: The pods to delete.
        failed: The failed ones among them, with their nodes.
        succeeded: The succeeded ones among them, with their nodes.
    """

    create: list[str] = field(default_factory=list[str])
    delete: list[ObjectRef] = field(default_factory=list["ObjectRef"])
    failed: list[tuple[ObjectRef, str]] = field(default_factory=list[tuple["ObjectRef", str]])
    succeeded: list[tuple[ObjectRef, str]] = field(default_factory=list[tuple["ObjectRef", str]])


@dataclass(frozen=True, slots=True)
class RolloutLimits:
    """The limits ``maxUnavailable`` and ``maxSurge`` of a rolling update."""

    max_surge: int
    max_unavailable: int


def target_of(pod: Dependent) -> str:
    """Return the node of a daemon pod, from its binding or its node affinity."""
    if pod.spec.node_name:
        return pod.spec.node_name
    for term in pod.spec.required_terms:
        for requirement in term.match_fields:
            if requirement.key == _NAME_FIELD and requirement.operator == "In" and len(requirement.values) == 1:
                return requirement.values[0]
    return ""


def plan_nodes(
    nodes: Mapping[str, Eligibility],
    pods: Mapping[str, Sequence[DaemonPod]],
    revision_hash: str,
    *,
    allows_surge: bool,
    is_backing_off: Callable[[str], bool],
) -> DaemonPlan:
    """Plan one pod for each eligible node, and none elsewhere.

    Args:
        nodes: The nodes.
        pods: The daemon pods of each node.
        revision_hash: The hash of the current template.
        allows_surge: Whether a node may temporarily have an old and a new pod.
        is_backing_off: Tells whether a failed pod of a node has to wait for its deletion.
    """
    plan = DaemonPlan()
    for name, eligibility in nodes.items():
        present = pods.get(name, ())
        if eligibility.should_run and not present:
            plan.create.append(name)
        elif eligibility.should_continue:
            running = _remove_finished(plan, name, present, is_backing_off)
            if not allows_surge:
                plan.delete += [pod.ref for pod in running[1:]]
            elif not running and eligibility.should_run:
                plan.create.append(name)
            else:
                plan.delete += _choose_surplus(running, revision_hash)
        else:
            plan.delete += [pod.ref for pod in present if not pod.pod.is_terminating]
    # The pod garbage collector removes bound pods of a deleted node, but not unbound ones.
    for name in pods.keys() - nodes.keys():
        plan.delete += [pod.ref for pod in pods[name] if not pod.pod.spec.node_name and not pod.pod.is_terminating]
    return plan


def _remove_finished(
    plan: DaemonPlan, node: str, present: Iterable[DaemonPod], is_backing_off: Callable[[str], bool]
) -> list[DaemonPod]:
    """Plan to delete finished pods of a node; return the others, the pod to keep first."""
    running: list[DaemonPod] = []
    for daemon_pod in present:
        if daemon_pod.pod.is_terminating:
            continue
        match daemon_pod.pod.status.phase:
            case "Failed":
                if not is_backing_off(node):
                    plan.failed.append((daemon_pod.ref, node))
                    plan.delete.append(daemon_pod.ref)
            case "Succeeded":
                plan.succeeded.append((daemon_pod.ref, node))
                plan.delete.append(daemon_pod.ref)
            case _:
                running.append(daemon_pod)
    return sorted(running, key=lambda daemon_pod: daemon_pod.rank)


def _choose_surplus(running: Sequence[DaemonPod], revision_hash: str) -> list[ObjectRef]:
    """Choose the pods to delete during a surge: the old pod remains until the new one is available."""
    new = [pod for pod in running if pod.has_hash(revision_hash)]
    old = [pod for pod in running if not pod.has_hash(revision_hash)]
    surplus = [pod.ref for pod in (*new[1:], *old[1:])]
    if new and old and (old[0].pod.ready_since is None or new[0].is_available):
        surplus.append(old[0].ref)
    return surplus


def read_limits(spec: Plain, desired: int) -> RolloutLimits:
    """Read the limits of a rolling update; percentages are rounded up."""
    rolling = part(part(spec, "updateStrategy"), "rollingUpdate")
    surge = scaled_value(rolling.get("maxSurge", 0), desired, round_up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", 1), desired, round_up=True)
    # With both at 0, an update could never begin.
    if desired and not surge and not unavailable:
        unavailable = 1
    return RolloutLimits(surge, unavailable)


def plan_rollout(
    nodes: Mapping[str, Eligibility],
    pods: Mapping[str, Sequence[DaemonPod]],
    limits: RolloutLimits,
    revision_hash: str,
) -> DaemonPlan:
    """Plan the next step of a rolling update.

    Args:
        nodes: The nodes.
        pods: The daemon pods of each node; eligible nodes without a pod have an empty entry.
        limits: The limits of the update.
        revision_hash: The hash of the current template.
    """
    if limits.max_surge:
        return _plan_surge(nodes, pods, limits.max_surge, revision_hash)
    unavailable, replaceable, candidates = 0, list["ObjectRef"](), list["ObjectRef"]()
    for present in pods.values():
        pair = _find_pair(present, revision_hash)
        new, old = pair or (None, None)
        if pair is None or (new is None) == (old is None):
            unavailable += 1
        elif new is not None:
            unavailable += not new.is_available
        elif old is not None:
            # Replacing an unavailable pod costs no availability, but counts towards maxUnavailable.
            (candidates if old.is_available else replaceable).append(old.ref)
            unavailable += not old.is_available
    return DaemonPlan(delete=[*replaceable, *candidates[: max(0, limits.max_unavailable - unavailable)]])


def _plan_surge(
    nodes: Mapping[str, Eligibility], pods: Mapping[str, Sequence[DaemonPod]], max_surge: int, revision_hash: str
) -> DaemonPlan:
    plan, surging, available = DaemonPlan(), 0, 0
    candidates, sunset = list[str](), list["ObjectRef"]()
    for name, present in pods.items():
        pair = _find_pair(present, revision_hash)
        if pair is None:
            surging += 1
            continue
        new, old = pair
        counted = old or new
        available += counted is not None and counted.is_available
        if old is None:
            continue
        if new is not None:
            if new.is_available:
                plan.delete.append(old.ref)
            surging += not new.is_available
        elif name not in nodes:
            return (
                DaemonPlan()
            )  # as in kube-controller-manager, pods on deleted nodes hold up the update until they end
        elif not nodes[name].should_run:
            (sunset if old.is_available else plan.delete).append(old.ref)
        else:
            (candidates if old.is_available else plan.create).append(name)
    # Old pods of ineligible nodes remain until new pods elsewhere are available.
    desired = sum(eligibility.should_run for eligibility in nodes.values())
    plan.delete += sunset[: max(0, available - desired)]
    plan.create += candidates[: max(0, max_surge - surging)]
    return plan


def _find_pair(present: Iterable[DaemonPod], revision_hash: str) -> tuple[DaemonPod | None, DaemonPod | None] | None:
    """Return the new and the old pod of a node; None if it has two of either, which `plan_nodes` resolves."""
    living = [pod for pod in present if not pod.pod.is_terminating]
    new = [pod for pod in living if pod.has_hash(revision_hash)]
    old = [pod for pod in living if not pod.has_hash(revision_hash)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None, old[0] if old else None)


def count_pods(
    nodes: Mapping[str, Eligibility], pods: Mapping[str, Sequence[DaemonPod]], revision_hash: str
) -> dict[str, int]:
    """Count pods and nodes for the status, without the zeros that Go omits."""
    counts = dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"), 0)
    updated = available = 0
    for name, eligibility in nodes.items():
        present = pods.get(name, ())
        if not eligibility.should_run:
            counts["numberMisscheduled"] += bool(present)
            continue
        counts["desiredNumberScheduled"] += 1
        if not present:
            continue
        first = min(present, key=lambda daemon_pod: daemon_pod.rank)
        counts["currentNumberScheduled"] += 1
        counts["numberReady"] += first.pod.ready_since is not None
        available += first.is_available
        updated += first.has_hash(revision_hash)
    optional = {
        "updatedNumberScheduled": updated,
        "numberAvailable": available,
        "numberUnavailable": counts["desiredNumberScheduled"] - available,
    }
    return counts | {name: count for name, count in optional.items() if count}
