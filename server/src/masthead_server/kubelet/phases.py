"""The status of a pod in each phase, as a kubelet writes it.

These functions change a pod in place. Nothing here knows the clock or the storage.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.pods import pod_label
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.plain import Plain

__all__ = [
    "HOST_IP",
    "Transition",
    "crash_loop",
    "end_container",
    "evict",
    "finish",
    "is_ended",
    "refuse",
    "restart_container",
    "start",
    "start_ephemeral",
]

HOST_IP: Final = "10.0.0.1"
"""The address of the kubelet's node."""
_NOT_READY: Final = "ContainersNotReady"
_COMPLETED: Final = "PodCompleted"
_CRASH_DELAY: Final = "back-off 10s restarting failed container"
_ENDED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class Transition:
    """What a change of phase needs to know.

    Attributes:
        now: The time, in the format of metadata.
        pod_ip: The address of a pod that starts.
        new_id: Returns the id of a container that starts.
    """

    now: str
    pod_ip: str
    new_id: Callable[[], str]


def start(pod: Plain, change: Transition) -> None:
    """Start every container of a pod that has a node; init containers have completed."""
    spec, status = part(pod, "spec"), pod.setdefault("status", {})
    status["phase"] = "Running"
    for field in ("reason", "message"):
        status.pop(field, None)
    status.setdefault("startTime", change.now)
    # A pod that starts again keeps its address.
    address = HOST_IP if spec.get("hostNetwork") else text(status, "podIP") or change.pod_ip
    status |= {"hostIP": HOST_IP, "hostIPs": [{"ip": HOST_IP}], "podIP": address, "podIPs": [{"ip": address}]}
    for kind, field in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        found = [_started(item, change, is_init=kind == "initContainers") for item in items(spec, kind)]
        if found:
            status[field] = found
    start_ephemeral(pod, change)
    for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"):
        _set_condition(status, kind, change.now, is_true=True)
    _observe(pod)


def start_ephemeral(pod: Plain, change: Transition) -> list[str]:
    """Start the ephemeral containers that have no status yet; returns their names."""
    status = pod.setdefault("status", {})
    known = {
        text(ephemeral_container_status, "name")
        for ephemeral_container_status in items(status, "ephemeralContainerStatuses")
    }
    new = [
        ephemeral_container
        for ephemeral_container in items(part(pod, "spec"), "ephemeralContainers")
        if text(ephemeral_container, "name") not in known
    ]
    if new:
        started = [_running(container, change, is_ready=False) for container in new]
        status["ephemeralContainerStatuses"] = [*items(status, "ephemeralContainerStatuses"), *started]
        _observe(pod)
    return [text(container, "name") for container in new]


def finish(pod: Plain, change: Transition, code: int, *, reason: str = "", message: str = "") -> None:
    """End every container that runs with an exit code, and so the pod: Succeeded with 0, Failed otherwise."""
    status = pod.setdefault("status", {})
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for item in items(status, field):
            # Containers that ended before keep their exit codes.
            if "terminated" not in part(item, "state"):
                _terminate(item, change.now, code, reason)
    _complete(status, change.now, "Failed" if code else "Succeeded", message)
    _observe(pod)


def refuse(pod: Plain, change: Transition, message: str) -> None:
    """Leave a pod pending that fits on no node. Its controller would replace a failed one."""
    status = pod.setdefault("status", {})
    _set_condition(status, "PodScheduled", change.now, is_true=False, reason="Unschedulable", message=message)


def is_ended(pod: Plain) -> bool:
    """Whether a pod has run to its end."""
    return text(part(pod, "status"), "phase") in _ENDED


def end_container(pod: Plain, name: str, change: Transition, code: int) -> None:
    """End a container with an exit code; when it was the last one, the pod ends, too."""
    status = pod.setdefault("status", {})
    for container_status in _statuses(status, name):
        _terminate(container_status, change.now, code, "")
    _observe(pod)
    containers = items(status, "containerStatuses")
    # Only regular containers decide about the phase.
    if name not in {text(container, "name") for container in containers}:
        return
    states = [part(container, "state") for container in containers]
    if all("terminated" in state for state in states):
        has_failed = any(part(state, "terminated").get("exitCode") for state in states)
        _complete(status, change.now, "Failed" if has_failed else "Succeeded", "")
    else:
        _set_unready(status, change.now)


def restart_container(pod: Plain, name: str, change: Transition, code: int, reason: str = "") -> None:
    """Start a container again, which has ended, or ends now with an exit code and a reason."""
    status = pod.setdefault("status", {})
    for container_status in _statuses(status, name):
        if "running" in part(container_status, "state"):
            _terminate(container_status, change.now, code, reason)
        last = part(container_status, "state").get("terminated") or part(container_status, "lastState").get(
            "terminated"
        )
        container_status |= {
            "state": {"running": {"startedAt": change.now}},
            "lastState": {"terminated": last} if last else {},
            "ready": True,
            "started": True,
            # The restart count grows with every start but the first.
            "restartCount": container_status.get("restartCount", 0) + 1,
            "containerID": change.new_id(),
        }
    status["phase"] = "Running"
    if all(container_status.get("ready") for container_status in items(status, "containerStatuses")):
        for kind in ("Ready", "ContainersReady"):
            _set_condition(status, kind, change.now, is_true=True)
    _observe(pod)


def crash_loop(pod: Plain, name: str, change: Transition, code: int) -> None:
    """End a container, which waits before it is started again: ``CrashLoopBackOff``."""
    status = pod.setdefault("status", {})
    for container_status in _statuses(status, name):
        if "running" in part(container_status, "state"):
            _terminate(container_status, change.now, code, "")
        last = part(container_status, "state").get("terminated") or part(container_status, "lastState").get(
            "terminated"
        )
        message = f"{_CRASH_DELAY}={name} pod={pod_label(pod)}"
        container_status |= {
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}},
            "lastState": {"terminated": last} if last else {},
            "ready": False,
            "started": False,
        }
    _set_unready(status, change.now)
    _observe(pod)


def evict(pod: Plain, change: Transition, message: str) -> None:
    """Fail a pod as a kubelet does that is short of resources."""
    # 137 is SIGKILL, which an eviction ends with.
    finish(pod, change, 137, reason="Error", message=message)
    status = part(pod, "status")
    status["reason"] = "Evicted"
    _set_condition(status, "DisruptionTarget", change.now, is_true=True, reason="TerminationByKubelet", message=message)


def _started(container: Plain, change: Transition, *, is_init: bool) -> Plain:
    found = _running(container, change)
    # An init container that restarts always is a sidecar, and keeps running.
    if is_init and container.get("restartPolicy") != "Always":
        _terminate(found, change.now, 0, "")
        found["ready"] = True
    return found


def _running(container: Plain, change: Transition, *, is_ready: bool = True) -> Plain:
    image = text(container, "image")
    found: Plain = {
        "name": text(container, "name"),
        "state": {"running": {"startedAt": change.now}},
        "lastState": {},
        "ready": is_ready,
        "restartCount": 0,
        "image": image,
        "imageID": f"{image}@sha256:{hashlib.sha256(image.encode()).hexdigest()}",
        "containerID": change.new_id(),
    }
    # Ephemeral containers report neither readiness nor a start.
    return {**found, "started": True} if is_ready else found


def _terminate(found: Plain, now: str, code: int, reason: str) -> None:
    started = text(part(part(found, "state"), "running"), "startedAt") or now
    ended: Plain = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "startedAt": started,
        "finishedAt": now,
    }
    if identity := text(found, "containerID"):
        ended["containerID"] = identity
    found |= {"state": {"terminated": ended}, "ready": False}
    if "started" in found:
        found["started"] = False


def _complete(status: Plain, now: str, phase: str, message: str) -> None:
    # A phase that is final never changes.
    if text(status, "phase") not in _ENDED:
        status["phase"] = phase
    if message:
        status["message"] = message
    reason = _COMPLETED if phase == "Succeeded" else "PodFailed"
    for kind in ("Ready", "ContainersReady"):
        _set_condition(status, kind, now, is_true=False, reason=reason)


def _set_unready(status: Plain, now: str) -> None:
    names = " ".join(
        text(container_status, "name")
        for container_status in items(status, "containerStatuses")
        if not container_status.get("ready")
    )
    message = f"containers with unready status: [{names}]"
    for kind in ("Ready", "ContainersReady"):
        _set_condition(status, kind, now, is_true=False, reason=_NOT_READY, message=message)


def _set_condition(status: Plain, kind: str, now: str, *, is_true: bool, reason: str = "", message: str = "") -> None:
    conditions = items(status, "conditions")
    known = next((condition for condition in conditions if text(condition, "type") == kind), None)
    value = "True" if is_true else "False"
    new: Plain = {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": now}
    if known is not None and text(known, "status") == value:
        # The time tells when the status changed, not when it was written.
        new["lastTransitionTime"] = known.get("lastTransitionTime", now)
    new |= {name: value for name, value in (("reason", reason), ("message", message)) if value}
    status["conditions"] = [condition for condition in conditions if condition is not known] + [new]


def _statuses(status: Plain, name: str) -> list[Plain]:
    """The status of a container, in a list that is empty if it has none."""
    fields = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    return [item for field in fields for item in items(status, field) if text(item, "name") == name]


def _observe(pod: Plain) -> None:
    generation = metadata(pod).get("generation")
    if generation:
        pod["status"]["observedGeneration"] = generation
