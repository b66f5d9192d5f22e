"""The status of a Deployment: counts, and conditions Available, Progressing and ReplicaFailure. Pure decisions."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.controllers.workloads.rollout import ReplicaSetView, Rollout

__all__ = ["begin_progress", "is_complete", "seconds_to_deadline", "status_of"]

_PROGRESSING: Final = "Progressing"
_FAILURE: Final = "ReplicaFailure"
_COUNTS: Final = ("updatedReplicas", "readyReplicas", "availableReplicas")


def status_of(
    deployment: Plain,
    rollout: Rollout,
    new: ReplicaSetView | None,
    old: Sequence[ReplicaSetView],
    now: str,
) -> Plain:
    """Return the status of a Deployment with these ReplicaSets.

    Args:
        deployment: The Deployment.
        rollout: What it allows.
        new: The ReplicaSet of its template, if there is one.
        old: The others.
        now: The time.
    """
    before = part(deployment, "status")
    everything = [*old, new] if new else list(old)
    available = sum(replica_set.available for replica_set in everything)
    counts = {
        "replicas": sum(replica_set.count("replicas") for replica_set in everything),
        "updatedReplicas": new.count("replicas") if new else 0,
        "readyReplicas": sum(replica_set.count("readyReplicas") for replica_set in everything),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sum(replica_set.replicas for replica_set in everything) - available),
    }
    status: Plain = {
        "observedGeneration": metadata(deployment).get("generation", 0),
        **{name: count for name, count in counts.items() if count},
    }
    observed = [part(replica_set.content, "status") for replica_set in everything if replica_set.is_observed]
    if all("terminatingReplicas" in replica_status for replica_status in observed):
        status["terminatingReplicas"] = sum(replica_status["terminatingReplicas"] for replica_status in observed)
    if before.get("collisionCount"):
        status["collisionCount"] = before["collisionCount"]
    conditions = [dict(condition) for condition in items(before, "conditions")]
    is_available = available >= rollout.replicas - rollout.max_unavailable
    reason, message = _AVAILABILITY[is_available]
    _set(conditions, "Available", str(is_available), reason, message, now)
    status["conditions"] = conditions
    _judge_progress(deployment, status, rollout, new, now)
    _copy_failure(conditions, [*([new] if new else []), *old])
    return status


_AVAILABILITY: Final = {
    True: ("MinimumReplicasAvailable", "Deployment has minimum availability."),
    False: ("MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
}


def begin_progress(deployment: Plain, name: str, now: str, *, is_new: bool) -> list[Plain]:
    """Return the conditions of a Deployment whose rollout to a ReplicaSet of this name begins."""
    conditions = [dict(condition) for condition in items(part(deployment, "status"), "conditions")]
    reason, verb = ("NewReplicaSetCreated", "Created") if is_new else ("FoundNewReplicaSet", "Found")
    _set(conditions, _PROGRESSING, "True", reason, f'{verb} new replica set "{name}"', now)
    return conditions


def is_complete(deployment: Plain, status: Plain, replicas: int) -> bool:
    """Tell whether all pods are new ones and available."""
    return all(
        status.get(name, 0) == replicas for name in ("replicas", "updatedReplicas", "availableReplicas")
    ) and status.get("observedGeneration", 0) >= metadata(deployment).get("generation", 0)


def seconds_to_deadline(deployment: Plain, status: Plain, now: datetime) -> float | None:
    """Return the time until a rollout counts as failed; None if it is complete, failed, or may take for ever."""
    deadline = part(deployment, "spec").get("progressDeadlineSeconds")
    condition = _find(items(status, "conditions"), _PROGRESSING)
    if deadline is None or condition is None or condition["reason"] in _FINAL:
        return None
    since = datetime.fromisoformat(text(condition, "lastUpdateTime"))
    return float(max(0.0, deadline - (now - since).total_seconds()) + 1)


_FINAL: Final = frozenset({"NewReplicaSetAvailable", "ProgressDeadlineExceeded", "DeploymentPaused"})


def _judge_progress(deployment: Plain, status: Plain, rollout: Rollout, new: ReplicaSetView | None, now: str) -> None:
    """Set the condition Progressing, unless the Deployment is paused or has no deadline."""
    spec, before = part(deployment, "spec"), part(deployment, "status")
    conditions: list[Plain] = status["conditions"]
    current = _find(conditions, _PROGRESSING)
    if spec.get("progressDeadlineSeconds") is None:
        conditions[:] = [condition for condition in conditions if condition["type"] != _PROGRESSING]
        return
    subject = f'ReplicaSet "{new.name}"' if new else f'Deployment "{text(metadata(deployment), "name")}"'
    is_done = (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current["reason"] == "NewReplicaSetAvailable"
    )
    if spec.get("paused"):
        _set(conditions, _PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused", now)
    elif current is not None and current["reason"] == "DeploymentPaused":
        _set(conditions, _PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    elif is_done:
        return
    elif is_complete(deployment, status, rollout.replicas):
        message = f"{subject} has successfully progressed."
        _set(conditions, _PROGRESSING, "True", "NewReplicaSetAvailable", message, now)
    elif _has_progressed(status, before):
        _set(
            conditions,
            _PROGRESSING,
            "True",
            "ReplicaSetUpdated",
            f"{subject} is progressing.",
            now,
            anew=True,
        )
    elif seconds_to_deadline(deployment, status, datetime.fromisoformat(now)) == 1.0:
        message = f"{subject} has timed out progressing."
        _set(conditions, _PROGRESSING, "False", "ProgressDeadlineExceeded", message, now)


def _copy_failure(conditions: list[Plain], replica_sets: Sequence[ReplicaSetView]) -> None:
    """Copy the failure of the first ReplicaSet whose pods are refused, or remove it."""
    found = (_find(items(part(view.content, "status"), "conditions"), _FAILURE) for view in replica_sets)
    failure = next((condition for condition in found if condition is not None), None)
    known = _find(conditions, _FAILURE)
    if failure is not None and known is not None and known.get("reason") == failure.get("reason"):
        return
    conditions[:] = [condition for condition in conditions if condition is not known]
    if failure is not None:
        conditions.append({**failure, "lastUpdateTime": failure["lastTransitionTime"]})


def _has_progressed(status: Plain, before: Plain) -> bool:
    """Whether there are more new, ready or available pods, or fewer old ones."""

    def old_pods(found: Plain) -> int:
        return int(found.get("replicas", 0) - found.get("updatedReplicas", 0))

    return old_pods(status) < old_pods(before) or any(status.get(name, 0) > before.get(name, 0) for name in _COUNTS)


def _set(
    conditions: list[Plain],
    kind: str,
    state: str,
    reason: str,
    message: str,
    now: str,
    *,
    anew: bool = False,
) -> None:
    """Set a condition; an equal condition stays unchanged, unless its update is to be observed."""
    current = _find(conditions, kind)
    if current is not None and (current["status"], current["reason"]) == (state, reason) and not anew:
        return
    since = current["lastTransitionTime"] if current is not None and current["status"] == state else now
    new: Plain = {
        "type": kind,
        "status": state,
        "lastUpdateTime": now,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    conditions[:] = [*(condition for condition in conditions if condition["type"] != kind), new]


def _find(conditions: Sequence[Plain], kind: str) -> Plain | None:
    return next((condition for condition in conditions if condition["type"] == kind), None)
