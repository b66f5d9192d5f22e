"""The status of a container: waiting, running, terminated.

These functions build or change plain JSON. Nothing here knows the clock or the storage.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.plain import Plain

__all__ = [
    "HEALTHY",
    "ContainerEnd",
    "ContainerHealth",
    "Transition",
    "has_run",
    "is_sidecar",
    "restart_status",
    "running_status",
    "statuses_of",
    "terminate",
    "wait_again",
    "waiting_status",
]

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class ContainerHealth(NamedTuple):
    """The probe results of a running container.

    Attributes:
        is_started: Whether its startup probe has succeeded.
        is_ready: Whether its readiness probe has succeeded.
    """

    is_started: bool
    is_ready: bool


HEALTHY = ContainerHealth(is_started=True, is_ready=True)


class ContainerEnd(NamedTuple):
    """The end of a container.

    Attributes:
        code: The exit code.
        reason: The reason; empty for ``Error``, or ``Completed`` with exit code 0.
        message: Its termination message.
    """

    code: int
    reason: str = ""
    message: str = ""


def _assume_healthy(_pod: Plain, _name: str) -> ContainerHealth:
    return HEALTHY


@dataclass(frozen=True, slots=True)
class Transition:
    """The context of a change of phase.

    Attributes:
        now: The time, in the format of metadata.
        host_ip: The address of the node.
        pod_ip: The address of a pod that starts.
        new_id: Returns the id of a container that starts.
        first_health: Returns the health of a container that starts, before its first probe.
    """

    now: str
    host_ip: str
    pod_ip: str
    new_id: Callable[[], str]
    first_health: Callable[[Plain, str], ContainerHealth] = _assume_healthy


def is_sidecar(container: Plain) -> bool:
    """Whether an init container is a sidecar, with the restart policy ``Always``."""
    return container.get("restartPolicy") == "Always"


def has_run(status: Plain) -> bool:
    """Whether a container has started at least once."""
    state = part(status, "state")
    return "running" in state or "terminated" in state or "terminated" in part(status, "lastState")


def statuses_of(status: Plain, name: str) -> list[Plain]:
    """Return the status of a container in a list, which is empty without a status."""
    return [item for field in _STATUSES for item in items(status, field) if text(item, "name") == name]


def waiting_status(container: Plain, reason: str) -> Plain:
    """Build the status of a container that has not started yet."""
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


def running_status(container: Plain, change: Transition, health: ContainerHealth | None = HEALTHY) -> Plain:
    """Build the status of a starting container.

    Args:
        container: Its spec.
        change: The change.
        health: Its health; None for ephemeral containers, which report neither readiness nor a start.
    """
    image = text(container, "image")
    found: Plain = {
        "name": text(container, "name"),
        "state": {"running": {"startedAt": change.now}},
        "lastState": {},
        "ready": health is not None and health.is_ready,
        "restartCount": 0,
        "image": image,
        "imageID": f"{image}@sha256:{hashlib.sha256(image.encode()).hexdigest()}",
        "containerID": change.new_id(),
    }
    if health is None:
        return found
    return {**found, "started": health.is_started, **_resources(container)}


def _resources(container: Plain) -> Plain:
    resources = part(container, "resources")
    found: Plain = {"resources": {key: copy.copy(resources[key]) for key in resources}}
    if requests := part(resources, "requests"):
        found["allocatedResources"] = dict(requests)
    return found


def terminate(found: Plain, now: str, end: ContainerEnd) -> None:
    """Write the state of a terminated container."""
    started = text(part(part(found, "state"), "running"), "startedAt") or now
    ended: Plain = {
        "exitCode": end.code,
        "reason": end.reason or ("Error" if end.code else "Completed"),
        "startedAt": started,
        "finishedAt": now,
    }
    if end.message:
        ended["message"] = end.message
    if identity := text(found, "containerID"):
        ended["containerID"] = identity
    found |= {"state": {"terminated": ended}, "ready": False}
    if "started" in found:
        found["started"] = False


def restart_status(found: Plain, container: Plain, change: Transition, health: ContainerHealth) -> None:
    """Write the state of a restarted container."""
    new = running_status(container, change, health)
    # The first start does not count as a restart.
    new |= {"lastState": _last_state(found), "restartCount": found.get("restartCount", 0) + 1}
    # A restart does not complete a deferred resize.
    if "resources" in found:
        new |= {field: found[field] for field in ("resources", "allocatedResources") if field in found}
    found |= new


def wait_again(found: Plain, reason: str, message: str) -> None:
    """Write the state of a terminated container that waits for its restart."""
    found |= {
        "state": {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}},
        "lastState": _last_state(found),
        "ready": False,
        "started": False,
    }


def _last_state(found: Plain) -> Plain:
    last = part(found, "state").get("terminated") or part(found, "lastState").get("terminated")
    return {"terminated": last} if last else {}
