"""A live history with many pods, without a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from masthead._ui.history import HeldKind
from masthead._ui.live_history import LiveHistory

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._recording.entries import Operation

__all__ = ["CREATED", "change_pod", "pod_history", "pod_json"]

CREATED = "2026-05-28T20:00:00Z"
PODS = HeldKind("", "v1", "Pod", "pods", short_names=("po",))
SETS = HeldKind("apps", "v1", "ReplicaSet", "replicasets", short_names=("rs",))


def pod_json(number: int, phase: str = "Running", **metadata: Any) -> bytes:
    """A pod as a server sends it."""
    owner = f"set-{number // 100}"
    obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number:05}",
            "namespace": f"team-{number % 5}",
            "uid": f"uid-{number}",
            "creationTimestamp": CREATED,
            "labels": {"app": f"app-{number % 50}", "tier": "web"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}
            ],
            **metadata,
        },
        "spec": {"nodeName": f"node-{number % 100}", "containers": [{"name": "main", "image": "nginx"}]},
        "status": {
            "phase": phase,
            "podIP": f"10.0.{number % 250}.{number // 250}",
            "containerStatuses": [
                {"name": "main", "ready": phase == "Running", "restartCount": 0, "state": {"running": {}}}
            ],
        },
    }
    return msgspec.json.encode(obj)


def _set_json(number: int) -> bytes:
    obj = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"set-{number}",
            "namespace": "team-0",
            "uid": f"set-{number}",
            "creationTimestamp": CREATED,
        },
        "spec": {"replicas": 100},
        "status": {"replicas": 100, "readyReplicas": 100},
    }
    return msgspec.json.encode(obj)


def pod_history(count: int, now: Callable[[], int]) -> LiveHistory:
    """A history in which these pods existed from the beginning."""
    history = LiveHistory(now)
    kind = history.add_kind(PODS)
    sets = history.add_kind(SETS)
    for number in range(count):
        history.add(kind, f"team-{number % 5}", f"pod-{number:05}", "STATE", pod_json(number))
    for number in range(count // 100):
        history.add(sets, "team-0", f"set-{number}", "STATE", _set_json(number))
    return history


def change_pod(history: LiveHistory, number: int, operation: Operation = "MODIFIED", phase: str = "Failed") -> int:
    """Change a pod; return the position."""
    return history.add(0, f"team-{number % 5}", f"pod-{number:05}", operation, pod_json(number, phase))
