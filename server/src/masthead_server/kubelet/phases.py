"""The status of a pod in each phase, as a kubelet writes it.

These functions change a pod in place. Nothing here knows the clock or the storage.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.kubelet.environment import ContainerConfigError
from masthead_server.kubelet.pods import pod_label
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead_server.wire.plain import Plain

    Launch: TypeAlias = Callable[[Plain, str], bool]

__all__ = [
    "HOST_IP",
    "Transition",
    "crash_loop",
    "end_container",
    "end_containers",
    "evict",
    "finish",
    "is_ended",
    "is_sidecar",
    "proceed",
    "refuse",
    "restart_container",
    "settle",
    "start",
    "start_ephemeral",
]

HOST_IP: Final = "10.0.0.1"
"""The address of the kubelet's node."""
_NOT_READY: Final = "ContainersNotReady"
_COMPLETED: Final = "PodCompleted"
_STARTABLE: Final = frozenset({"PodInitializing", "ContainerCreating", "CreateContainerConfigError"})
"""Why containers wait that may start now."""
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


def start(pod: Plain, change: Transition, launch: Launch) -> list[str]:
    """Start the containers of a pod that has a node, as far as its init containers allow; returns their names."""
    spec, status = part(pod, "spec"), pod.setdefault("status", {})
    for field in ("reason", "message"):
        status.pop(field, None)
    status["phase"] = "Pending"
    status.setdefault("startTime", change.now)
    # A pod that starts again keeps its address.
    address = HOST_IP if spec.get("hostNetwork") else text(status, "podIP") or change.pod_ip
    status |= {"hostIP": HOST_IP, "hostIPs": [{"ip": HOST_IP}], "podIP": address, "podIPs": [{"ip": address}]}
    reason = "PodInitializing" if items(spec, "initContainers") else "ContainerCreating"
    for kind, field in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        found = [_waiting(item, reason) for item in items(spec, kind)]
        if found:
            status[field] = found
    start_ephemeral(pod, change)
    for kind in ("PodReadyToStartContainers", "PodScheduled"):
        _set_condition(status, kind, change.now, is_true=True)
    return proceed(pod, change, launch)


def proceed(pod: Plain, change: Transition, launch: Launch) -> list[str]:
    """Start the containers whose turn it is: init containers one after the other, then all others.

    Args:
        pod: The pod.
        change: The change.
        launch: Tells whether a container has a process of its own; raises what keeps it from being created.

    Returns:
        The names of the containers that were started; init containers without a process have completed already.
    """
    spec, status = part(pod, "spec"), part(pod, "status")
    started: list[str] = []
    for container in items(spec, "initContainers"):
        _start_waiting(pod, container, change, launch, started, is_init=True)
        if not _is_past(status, container):
            break
    else:
        for container in items(spec, "containers"):
            _start_waiting(pod, container, change, launch, started, is_init=False)
    settle(pod, change.now)
    return started


def _start_waiting(
    pod: Plain, container: Plain, change: Transition, launch: Launch, started: list[str], *, is_init: bool
) -> None:
    name = text(container, "name")
    for found in _statuses(part(pod, "status"), name):
        if text(part(part(found, "state"), "waiting"), "reason") not in _STARTABLE:
            continue
        try:
            is_scripted = launch(pod, name)
        except ContainerConfigError as error:
            found["state"] = {"waiting": {"reason": "CreateContainerConfigError", "message": str(error)}}
            continue
        found.update(_running(container, change))
        # What has nothing to do completes at once; a sidecar runs on.
        if is_init and not is_scripted and not is_sidecar(container):
            _terminate(found, change.now, 0, "")
            found["ready"] = True
        started.append(name)


def _is_past(status: Plain, container: Plain) -> bool:
    """Whether the containers behind an init container may start."""
    states = _statuses(status, text(container, "name"))
    if is_sidecar(container):
        return any(item.get("started") for item in states)
    return any(part(part(item, "state"), "terminated").get("exitCode") == 0 for item in states)


def settle(pod: Plain, now: str) -> None:
    """Derive the phase and the conditions of a pod from its containers."""
    spec, status = part(pod, "spec"), pod.setdefault("status", {})
    policy = text(spec, "restartPolicy") or "Always"
    incomplete = [text(item, "name") for item in items(spec, "initContainers") if not _is_past(status, item)]
    containers = items(status, "containerStatuses")
    states = [part(item, "state") for item in containers]
    has_begun = any(
        "waiting" not in state or part(item, "lastState") for item, state in zip(containers, states, strict=True)
    )
    if incomplete and not has_begun:
        message = f"containers with incomplete status: [{' '.join(incomplete)}]"
        _set_condition(status, "Initialized", now, is_true=False, reason="ContainersNotInitialized", message=message)
        ends = [part(part(item, "state"), "terminated") for item in items(status, "initContainerStatuses")]
        has_failed = any(ended.get("exitCode") for ended in ends)
        if has_failed and policy == "Never":
            _complete(status, now, "Failed", "")
            _observe(pod)
            return
        status["phase"] = "Pending"
    else:
        _set_condition(status, "Initialized", now, is_true=True)
        if states and all("terminated" in state for state in states):
            codes = [part(state, "terminated").get("exitCode") for state in states]
            _complete(status, now, "Failed" if any(codes) else "Succeeded", "")
            _observe(pod)
            return
        never_ran = any(
            "waiting" in state and not part(item, "lastState") for item, state in zip(containers, states, strict=True)
        )
        status["phase"] = "Pending" if never_ran else "Running"
    if all(item.get("ready") for item in containers):
        for kind in ("Ready", "ContainersReady"):
            _set_condition(status, kind, now, is_true=True)
    else:
        _set_unready(status, now)
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


def end_container(pod: Plain, name: str, change: Transition, code: int, message: str = "") -> None:
    """End a container with an exit code; when it was the last one, the pod ends, too."""
    status = pod.setdefault("status", {})
    spec = part(pod, "spec")
    for container_status in _statuses(status, name):
        _terminate(container_status, change.now, code, "", message)
    # An init container that has completed is ready.
    if not code and any(text(item, "name") == name and not is_sidecar(item) for item in items(spec, "initContainers")):
        for container_status in _statuses(status, name):
            container_status["ready"] = True
    if any(text(item, "name") == name for item in items(spec, "ephemeralContainers")):
        _observe(pod)
        return
    settle(pod, change.now)


def end_containers(pod: Plain, change: Transition, ends: Mapping[str, tuple[int, str]]) -> None:
    """End containers of a pod that is deleted, with their exit codes and messages; its phase is final."""
    status = pod.setdefault("status", {})
    for field in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for item in items(status, field):
            if "running" in part(item, "state"):
                _terminate(item, change.now, *_end_of(ends, text(item, "name")))
    codes = [part(part(item, "state"), "terminated").get("exitCode") for item in items(status, "containerStatuses")]
    _complete(status, change.now, "Failed" if any(codes) else "Succeeded", "")
    _observe(pod)


def _end_of(ends: Mapping[str, tuple[int, str]], name: str) -> tuple[int, str, str]:
    code, message = ends.get(name, (0, ""))
    return code, "", message


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
    settle(pod, change.now)


def crash_loop(pod: Plain, name: str, change: Transition, code: int, delay: float = 10, ending: str = "") -> None:
    """End a container, which waits before it is started again: ``CrashLoopBackOff``."""
    status = pod.setdefault("status", {})
    for container_status in _statuses(status, name):
        if "running" in part(container_status, "state"):
            _terminate(container_status, change.now, code, "", ending)
        last = part(container_status, "state").get("terminated") or part(container_status, "lastState").get(
            "terminated"
        )
        message = f"back-off {_duration(delay)} restarting failed container={name} pod={pod_label(pod)}"
        container_status |= {
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}},
            "lastState": {"terminated": last} if last else {},
            "ready": False,
            "started": False,
        }
    settle(pod, change.now)


def _duration(seconds: float) -> str:
    """Whole seconds, as Go prints a duration."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def evict(pod: Plain, change: Transition, message: str) -> None:
    """Fail a pod as a kubelet does that is short of resources."""
    # 137 is SIGKILL, which an eviction ends with.
    finish(pod, change, 137, reason="Error", message=message)
    status = part(pod, "status")
    status["reason"] = "Evicted"
    _set_condition(status, "DisruptionTarget", change.now, is_true=True, reason="TerminationByKubelet", message=message)


def is_sidecar(container: Plain) -> bool:
    """Whether an init container is a sidecar: it restarts always, and runs beside the others."""
    return container.get("restartPolicy") == "Always"


def _waiting(container: Plain, reason: str) -> Plain:
    return {
        "name": text(container, "name"),
        "state": {"waiting": {"reason": reason}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": text(container, "image"),
        "imageID": "",
        "started": False,
    }


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


def _terminate(found: Plain, now: str, code: int, reason: str, message: str = "") -> None:
    started = text(part(part(found, "state"), "running"), "startedAt") or now
    ended: Plain = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "startedAt": started,
        "finishedAt": now,
    }
    if message:
        ended["message"] = message
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
