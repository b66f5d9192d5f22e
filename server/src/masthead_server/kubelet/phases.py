"""The status of a pod in each phase, as a kubelet writes it.

These functions change a pod in place. Nothing here knows the clock or the storage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.kubelet.conditions import refresh_conditions, set_condition
from masthead_server.kubelet.container_states import (
    ContainerEnd,
    ContainerHealth,
    Transition,
    has_run,
    is_sidecar,
    restart_status,
    running_status,
    statuses_of,
    terminate,
    wait_again,
    waiting_status,
)
from masthead_server.kubelet.environment import ContainerStartError
from masthead_server.kubelet.pod_phase import compute_phase
from masthead_server.kubelet.pods import container_of, pod_label, restarts
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead_server.wire.plain import Plain

    Launch: TypeAlias = Callable[[Plain, str], bool]

__all__ = [
    "crash_loop",
    "end_container",
    "end_containers",
    "evict",
    "finish",
    "format_duration",
    "has_finished",
    "is_ended",
    "proceed",
    "recreate",
    "refuse",
    "reject",
    "restart_all",
    "restart_container",
    "set_health",
    "settle",
    "start",
    "start_ephemeral",
]

_STARTABLE: Final = frozenset(
    {
        "PodInitializing",
        "ContainerCreating",
        "CreateContainerConfigError",
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "RestartingAllContainers",
    }
)
"""Waiting reasons of containers that may start now."""
_RESTARTING: Final = "RestartingAllContainers"
_KILLED: Final = 137
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_FIELDS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def start(pod: Plain, change: Transition, launch: Launch) -> list[str]:
    """Start a bound pod, and the containers that its init containers allow; return their names."""
    spec, status = part(pod, "spec"), pod.setdefault("status", {})
    for field in ("reason", "message"):
        status.pop(field, None)
    status["phase"] = "Pending"
    status.setdefault("startTime", change.now)
    # A restarted pod keeps its address.
    host = change.host_ip
    address = host if spec.get("hostNetwork") else text(status, "podIP") or change.pod_ip
    status |= {"hostIP": host, "hostIPs": [{"ip": host}], "podIP": address, "podIPs": [{"ip": address}]}
    reason = "PodInitializing" if items(spec, "initContainers") else "ContainerCreating"
    for kind, field in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        found = [waiting_status(item, reason) for item in items(spec, kind)]
        if found:
            status[field] = found
    start_ephemeral(pod, change)
    return proceed(pod, change, launch)


def proceed(pod: Plain, change: Transition, launch: Launch) -> list[str]:
    """Start the next containers: init containers one after the other, then all others.

    Args:
        pod: The pod.
        change: The change.
        launch: Tells whether a container has a main process; raises an error if it cannot be created.

    Returns:
        The names of the containers that were started; init containers without a process have completed already.
    """
    spec, states = part(pod, "spec"), _statuses_by_name(part(pod, "status"))
    started: list[str] = []
    for container in items(spec, "initContainers"):
        found = states.get(text(container, "name"), [])
        _start_waiting(pod, container, found, change, launch, started, is_init=True)
        if not _is_past(found, container):
            break
    else:
        for container in items(spec, "containers"):
            found = states.get(text(container, "name"), [])
            _start_waiting(pod, container, found, change, launch, started, is_init=False)
    settle(pod, change.now)
    return started


def _statuses_by_name(status: Plain) -> dict[str, list[Plain]]:
    found: dict[str, list[Plain]] = {}
    for field in _FIELDS:
        for item in items(status, field):
            found.setdefault(text(item, "name"), []).append(item)
    return found


def _start_waiting(
    pod: Plain,
    container: Plain,
    statuses: list[Plain],
    change: Transition,
    launch: Launch,
    started: list[str],
    *,
    is_init: bool,
) -> None:
    name = text(container, "name")
    for found in statuses:
        waiting = part(part(found, "state"), "waiting")
        if text(waiting, "reason") not in _STARTABLE:
            continue
        try:
            is_scripted = launch(pod, name)
        except ContainerStartError as error:
            if error.reason:
                found["image"] = text(container, "image")
                found["state"] = {"waiting": {"reason": error.reason, "message": str(error)}}
            continue
        health = _first_health(pod, container, change)
        if has_run(found):
            restart_status(found, container, change, health)
        else:
            found.update(running_status(container, change, health))
        # Without a process, an init container completes immediately, while a sidecar keeps running.
        if is_init and not is_scripted and not is_sidecar(container):
            terminate(found, change.now, ContainerEnd(0))
            found["ready"] = True
        started.append(name)


def _first_health(pod: Plain, container: Plain, change: Transition) -> ContainerHealth:
    name = text(container, "name")
    is_init = any(text(item, "name") == name for item in items(part(pod, "spec"), "initContainers"))
    # Init containers have no probes; they are ready once they have succeeded.
    if is_init and not is_sidecar(container):
        return ContainerHealth(is_started=True, is_ready=False)
    return change.first_health(pod, name)


def _is_past(states: list[Plain], container: Plain) -> bool:
    """Whether an init container lets the next containers start."""
    if is_sidecar(container):
        return any(item.get("started") for item in states)
    return any(part(part(item, "state"), "terminated").get("exitCode") == 0 for item in states)


def settle(pod: Plain, now: str) -> None:
    """Derive the phase and the conditions of a pod from its containers."""
    status = pod.setdefault("status", {})
    if text(status, "phase") not in _ENDED:
        status["phase"] = compute_phase(pod)
    refresh_conditions(pod, now)
    _observe(pod)


def set_health(pod: Plain, name: str, now: str, health: ContainerHealth) -> None:
    """Write the probe results of a container; without running, it is not ready."""
    for found in statuses_of(part(pod, "status"), name):
        is_running = "running" in part(found, "state")
        found["started"] = is_running and health.is_started
        found["ready"] = is_running and health.is_started and health.is_ready
    settle(pod, now)


def start_ephemeral(pod: Plain, change: Transition) -> list[str]:
    """Start the ephemeral containers without a status; return their names."""
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
        started = [running_status(container, change, None) for container in new]
        status["ephemeralContainerStatuses"] = [*items(status, "ephemeralContainerStatuses"), *started]
        _acknowledge(pod, change.now)
    return [text(container, "name") for container in new]


def finish(pod: Plain, change: Transition, code: int, *, reason: str = "", message: str = "") -> None:
    """End every running container with an exit code: the pod becomes Succeeded with 0, Failed otherwise."""
    status = pod.setdefault("status", {})
    for field in _FIELDS:
        for item in items(status, field):
            # Terminated containers keep their exit codes.
            if "terminated" not in part(item, "state"):
                terminate(item, change.now, ContainerEnd(code, reason))
    _complete(pod, change.now, "Failed" if code else "Succeeded", message=message)


def refuse(pod: Plain, change: Transition, message: str) -> None:
    """Leave an unschedulable pod pending, since a controller would replace a failed pod."""
    pod.setdefault("status", {})
    set_condition(pod, "PodScheduled", change.now, is_true=False, reason="Unschedulable", message=message)


def reject(pod: Plain, reason: str, message: str) -> None:
    """Fail a pod that its node rejects; a controller replaces it."""
    status = pod.setdefault("status", {})
    status |= {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    _observe(pod)


def is_ended(pod: Plain) -> bool:
    """Whether a pod has finished."""
    return text(part(pod, "status"), "phase") in _ENDED


def has_finished(pod: Plain) -> bool:
    """Whether all containers but the sidecars have ended, so that these have to end, too."""
    status = part(pod, "status")
    if is_ended(pod):
        return True
    ended = {
        text(found, "name"): part(part(found, "state"), "terminated") for found in items(status, "containerStatuses")
    }
    names = [text(container, "name") for container in items(part(pod, "spec"), "containers")]
    return all(ended.get(name) and not restarts(pod, name, ended[name].get("exitCode") or 0) for name in names)


def end_container(pod: Plain, name: str, change: Transition, end: ContainerEnd) -> None:
    """End a container; without a restart, the last container finishes the pod."""
    status = pod.setdefault("status", {})
    spec = part(pod, "spec")
    for found in statuses_of(status, name):
        if "running" in part(found, "state"):
            terminate(found, change.now, end)
    # An init container that has completed is ready.
    if not end.code and any(
        text(item, "name") == name and not is_sidecar(item) for item in items(spec, "initContainers")
    ):
        for found in statuses_of(status, name):
            found["ready"] = True
    if any(text(item, "name") == name for item in items(spec, "ephemeralContainers")):
        _acknowledge(pod, change.now)
        return
    settle(pod, change.now)


def end_containers(
    pod: Plain, change: Transition, ends: Mapping[str, ContainerEnd], *, reason: str = "", message: str = ""
) -> None:
    """End all containers of a pod.

    Args:
        pod: The pod.
        change: The change.
        ends: The end of each container, by name.
        reason: The reason of a failure that does not depend on exit codes; empty without one.
        message: The message of that failure.
    """
    status = pod.setdefault("status", {})
    for field in _FIELDS:
        for item in items(status, field):
            if "running" in part(item, "state"):
                terminate(item, change.now, ends.get(text(item, "name"), ContainerEnd(0)))
    codes = [part(part(item, "state"), "terminated").get("exitCode") for item in items(status, "containerStatuses")]
    _complete(pod, change.now, "Failed" if any(codes) or reason else "Succeeded", reason=reason, message=message)


def restart_container(pod: Plain, name: str, change: Transition, end: ContainerEnd) -> None:
    """Restart a container, which ends first if it runs."""
    status = pod.setdefault("status", {})
    container = container_of(pod, name) or {"name": name}
    for found in statuses_of(status, name):
        if "running" in part(found, "state"):
            terminate(found, change.now, end)
        restart_status(found, container, change, _first_health(pod, container, change))
    settle(pod, change.now)


def recreate(pod: Plain, name: str, change: Transition, end: ContainerEnd) -> None:
    """End a container if it runs, and let it wait to be created again."""
    for found in statuses_of(part(pod, "status"), name):
        if "running" in part(found, "state"):
            terminate(found, change.now, end)
        wait_again(found, "ContainerCreating", "")
    settle(pod, change.now)


def restart_all(pod: Plain, change: Transition) -> None:
    """End all containers of a pod, which restarts with its init containers."""
    status = part(pod, "status")
    for field in ("initContainerStatuses", "containerStatuses"):
        for found in items(status, field):
            if "running" in part(found, "state"):
                terminate(found, change.now, ContainerEnd(_KILLED, _RESTARTING))
            if has_run(found):
                wait_again(found, _RESTARTING, "The container is removed because RestartAllContainers in place")
    settle(pod, change.now)


def crash_loop(pod: Plain, name: str, change: Transition, end: ContainerEnd, delay: float = 10) -> None:
    """End a container, and put it into ``CrashLoopBackOff``."""
    status = pod.setdefault("status", {})
    for found in statuses_of(status, name):
        if "running" in part(found, "state"):
            terminate(found, change.now, end)
        message = f"back-off {format_duration(delay)} restarting failed container={name} pod={pod_label(pod)}"
        wait_again(found, "CrashLoopBackOff", message)
    settle(pod, change.now)


def format_duration(seconds: float) -> str:
    """Format whole seconds as Go prints a duration."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def evict(pod: Plain, change: Transition, message: str) -> None:
    """Fail a pod as a kubelet under resource pressure does."""
    finish(pod, change, _KILLED, reason="Error", message=message)
    part(pod, "status")["reason"] = "Evicted"
    set_condition(pod, "DisruptionTarget", change.now, is_true=True, reason="TerminationByKubelet", message=message)
    refresh_conditions(pod, change.now)


def _complete(pod: Plain, now: str, phase: str, *, reason: str = "", message: str = "") -> None:
    status = part(pod, "status")
    # A final phase never changes.
    if text(status, "phase") not in _ENDED:
        status["phase"] = phase
        status |= {field: value for field, value in (("reason", reason), ("message", message)) if value}
    refresh_conditions(pod, now)
    _observe(pod)


def _acknowledge(pod: Plain, now: str) -> None:
    """Observe the generation of a pod in its status and conditions; ephemeral containers do not affect its phase."""
    # A status that a test wrote may lack containers, from which conditions are derived.
    if "containerStatuses" in part(pod, "status"):
        refresh_conditions(pod, now)
    _observe(pod)


def _observe(pod: Plain) -> None:
    generation = metadata(pod).get("generation")
    if generation:
        pod["status"]["observedGeneration"] = generation
