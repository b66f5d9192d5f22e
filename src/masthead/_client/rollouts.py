"""The progress of rollouts, as ``kubectl rollout status`` computes it: the missing parts, empty once complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._schema.field_paths import parse_path, plain, value_at

if TYPE_CHECKING:
    from masthead._meta.object import Object

__all__ = [
    "daemon_set_lacks",
    "deployment_lacks",
    "exceeds_progress_deadline",
    "generation_lacks",
    "replicas_lack",
    "stateful_set_lacks",
]

_UNSEEN: Final = "the controller has not seen the newest change yet"
_STRATEGY: Final = "spec.updateStrategy.type"


def deployment_lacks(obj: Object) -> str:
    """Describe the missing updates of a Deployment's replicas: all updated and available, no old one left."""
    wanted, replicas = _number(obj, "spec.replicas", 1), _number(obj, "status.replicas")
    updated = _number(obj, "status.updatedReplicas")
    available = _number(obj, "status.availableReplicas")
    # Until the controller has observed this generation, the counts are those of an earlier one.
    if _number(obj, "status.observedGeneration") < obj.metadata.generation:
        return _UNSEEN
    if updated < wanted:
        return f"{updated} of {wanted} pods are new{_note_stall(obj)}"
    # Old pods may still serve requests, so the rollout is not over.
    if replicas > updated:
        return f"{replicas - updated} old pods have yet to end{_note_stall(obj)}"
    if available < updated:
        return f"{available} of {updated} new pods are available{_note_stall(obj)}"
    return ""


def stateful_set_lacks(obj: Object) -> str:
    """Describe the missing replicas of a StatefulSet: all ready and, from the partition on, updated."""
    wanted, ready = _number(obj, "spec.replicas", 1), _number(obj, "status.readyReplicas")
    observed = _number(obj, "status.observedGeneration")
    # Until the controller has observed this generation, the counts are those of an earlier one.
    if not observed or observed < obj.metadata.generation:
        return _UNSEEN
    if ready < wanted:
        return f"{ready} of {wanted} pods are ready"
    if _text(obj, _STRATEGY) == "OnDelete":
        return ""  # pods keep the old revision until they are deleted
    if partition := _number(obj, "spec.updateStrategy.rollingUpdate.partition"):
        # Below the partition, pods keep the old revision on purpose.
        updated, new = _number(obj, "status.updatedReplicas"), wanted - partition
        return f"{updated} of {new} pods from {partition} on are new" if updated < new else ""
    current, newest = _text(obj, "status.currentRevision"), _text(obj, "status.updateRevision")
    if current != newest:
        updated = _number(obj, "status.updatedReplicas")
        return f"{updated} of {wanted} pods are of the revision {newest}"
    return ""


def daemon_set_lacks(obj: Object) -> str:
    """Describe the missing pods of a DaemonSet: updated and available on all nodes."""
    wanted = _number(obj, "status.desiredNumberScheduled")
    updated = _number(obj, "status.updatedNumberScheduled")
    available = _number(obj, "status.numberAvailable")
    # Until the controller has observed this generation, the counts are those of an earlier one.
    if _number(obj, "status.observedGeneration") < obj.metadata.generation:
        return _UNSEEN
    if updated < wanted and _text(obj, _STRATEGY) != "OnDelete":
        return f"{updated} of {wanted} pods are new"
    if available < wanted:
        return f"{available} of {wanted} pods are available"
    return ""


def replicas_lack(obj: Object) -> str:
    """Describe the missing replicas of a replica set or replication controller."""
    wanted, ready = _number(obj, "spec.replicas", 1), _number(obj, "status.readyReplicas")
    # Until the controller has observed this generation, the counts are those of an earlier one.
    if _number(obj, "status.observedGeneration") < obj.metadata.generation:
        return _UNSEEN
    return f"{ready} of {wanted} pods are ready" if ready < wanted else ""


def generation_lacks(obj: Object) -> str:
    """Describe whether the controller has yet to observe the newest generation, if it reports one."""
    observed = value_at(obj, parse_path("status.observedGeneration"))
    return _UNSEEN if isinstance(observed, int) and observed < obj.metadata.generation else ""


def exceeds_progress_deadline(obj: Object) -> bool:
    """Whether a deployment's progress deadline is exceeded for its newest generation, where kubectl stops waiting."""
    conditions = plain(value_at(obj, parse_path("status.conditions")))
    found = cast("list[dict[str, object]]", conditions) if isinstance(conditions, list) else []
    reasons = {condition.get("reason") for condition in found}
    return "ProgressDeadlineExceeded" in reasons and not generation_lacks(obj)


def _note_stall(obj: Object) -> str:
    """A note if the progress deadline is exceeded."""
    return ", and its progress deadline is exceeded" if exceeds_progress_deadline(obj) else ""


def _number(obj: Object, path: str, default: int = 0) -> int:
    value = value_at(obj, parse_path(path))
    return value if isinstance(value, int) else default


def _text(obj: Object, path: str) -> str:
    value = value_at(obj, parse_path(path))
    return value if isinstance(value, str) else ""
