"""Reads of a pod, and checks before the API server or the kubelet connects a client to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._meta.quoting import quoted
from masthead.errors import ArgumentError
from masthead_server.wire.failures import bad_request
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = [
    "MAX_CONTAINERS",
    "check_assigned",
    "check_container",
    "choose_container",
    "container_names",
    "container_of",
    "find_container",
    "first_container",
    "has_too_many_containers",
    "is_running",
    "log_problem",
    "pod_label",
    "restarts",
    "restarts_all",
    "restarts_unhealthy",
    "running_containers",
    "status_of",
]

MAX_CONTAINERS: Final = 250
"""The maximum number of containers of a pod: each costs a process, files and Events."""
_KINDS: Final = ("initContainers", "containers", "ephemeralContainers")
_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_RESTART_ALL: Final = "RestartAllContainers"
_WAITING: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def choose_container(pod: Plain, name: str) -> str:
    """Return the container of a request: the named or the only one.

    Raises:
        StatusFailure: If the pod has no such container, or several to choose from.
    """
    pod_name = text(metadata(pod), "name")
    if name:
        if container_of(pod, name) is None:
            raise bad_request(f"container {name} is not valid for pod {pod_name}")
        return name
    containers = items(part(pod, "spec"), "containers")
    if len(containers) == 1:
        return text(containers[0], "name")
    # Only kubectl evaluates the annotation with the default container.
    names = f", choose one of: [{' '.join(container_names(pod))}]" if containers else ""
    raise bad_request(f"a container name must be specified for pod {pod_name}{names}")


def check_container(pod: Plain, name: str) -> None:
    """Check a container that a test names; an empty name is none in particular.

    Raises:
        ArgumentError: If the pod has no such container.
    """
    if name and container_of(pod, name) is None:
        label = f"{text(metadata(pod), 'namespace')}/{text(metadata(pod), 'name')}"
        problem = f"the pod {label} has no container {name!r}; there are {', '.join(container_names(pod))}"
        raise ArgumentError(problem, value=name)


def check_assigned(pod: Plain) -> None:
    """Make sure that a pod has a node.

    Raises:
        StatusFailure: If it has none.
    """
    if not text(part(pod, "spec"), "nodeName"):
        raise bad_request(f"pod {text(metadata(pod), 'name')} does not have a host assigned")


def pod_label(pod: Plain) -> str:
    """Format a pod as in the kubelet's messages."""
    meta = metadata(pod)
    return f"{text(meta, 'name')}_{text(meta, 'namespace')}({text(meta, 'uid')})"


def container_names(pod: Plain) -> Iterator[str]:
    """Iterate over the names of all containers."""
    for kind in _KINDS:
        for item in items(part(pod, "spec"), kind):
            yield text(item, "name")


def first_container(pod: Plain) -> str:
    """Return the name of the first container that is not an init container."""
    return next((text(container, "name") for container in items(part(pod, "spec"), "containers")), "")


def container_of(pod: Plain, name: str) -> Plain | None:
    """Return the spec of a container; None if the pod has no such container."""
    kind, found = find_container(pod, name)
    return found if kind else None


def find_container(pod: Plain, name: str) -> tuple[str, Plain]:
    """Return the field of the spec that has a container, and the container; both empty without one."""
    return _find(part(pod, "spec"), _KINDS, name)


def status_of(pod: Plain, name: str) -> Plain | None:
    """Return the status of a container; None if it has none."""
    field, found = _find(part(pod, "status"), _STATUSES, name)
    return found if field else None


def _find(owner: Plain, fields: tuple[str, ...], name: str) -> tuple[str, Plain]:
    # Written for speed: a pod of 250 containers calls this thousands of times when it starts.
    for field in fields:
        found = owner.get(field)
        if isinstance(found, list):
            for item in cast("list[Plain | None]", found):
                if item and item.get("name") == name:
                    return field, item
    return "", {}


def running_containers(pod: Plain) -> list[str]:
    """Return the names of the running containers, in linear time: a pod of 136 KB may have thousands."""
    status = part(pod, "status")
    states = {text(item, "name"): part(item, "state") for kind in _STATUSES for item in items(status, kind)}
    # A test may write the phase without container statuses.
    if_unknown: Plain = {"running": {}} if text(status, "phase") == "Running" else {}
    return [name for name in container_names(pod) if "running" in states.get(name, if_unknown)]


def has_too_many_containers(pod: Plain) -> bool:
    """Tell whether a pod exceeds the maximum number of containers."""
    spec = part(pod, "spec")
    return sum(len(items(spec, kind)) for kind in _KINDS) > MAX_CONTAINERS


def is_running(pod: Plain, name: str) -> bool:
    """Tell whether a container runs; without container statuses, the phase of the pod decides."""
    found = status_of(pod, name)
    if found is None:
        return text(part(pod, "status"), "phase") == "Running"
    return "running" in part(found, "state")


def restarts(pod: Plain, name: str, code: int) -> bool:
    """Tell whether a container restarts after an exit code."""
    spec = part(pod, "spec")
    # Ephemeral containers never restart.
    if any(text(ephemeral_container, "name") == name for ephemeral_container in items(spec, "ephemeralContainers")):
        return False
    container = container_of(pod, name) or {}
    if _rule_for(container, code) in {"Restart", _RESTART_ALL}:
        return True
    policy = text(container, "restartPolicy") or text(spec, "restartPolicy") or "Always"
    is_init = any(text(item, "name") == name for item in items(spec, "initContainers"))
    # A succeeded init container does not restart; sidecars have their own policy.
    if is_init and policy == "Always" and text(container, "restartPolicy") != "Always":
        policy = "OnFailure"
    return policy != "Never" and (policy != "OnFailure" or code != 0)


def restarts_all(pod: Plain, name: str, code: int) -> bool:
    """Tell whether an exit code of a container restarts all containers of its pod."""
    return _rule_for(container_of(pod, name) or {}, code) == _RESTART_ALL


def restarts_unhealthy(pod: Plain, name: str) -> bool:
    """Tell whether a container restarts after a probe has killed it, which does not depend on restart rules."""
    policy = text(container_of(pod, name) or {}, "restartPolicy") or text(part(pod, "spec"), "restartPolicy")
    return policy != "Never"


def _rule_for(container: Plain, code: int) -> str:
    """Return the action of the first restart rule for an exit code; empty without one."""
    rules = items(container, "restartPolicyRules")
    return next((text(rule, "action") for rule in rules if _applies(part(rule, "exitCodes"), code)), "")


def _applies(condition: Plain, code: int) -> bool:
    values = condition.get("values") or ()
    return (code in values) == (text(condition, "operator") == "In")


def log_problem(pod: Plain, name: str, *, previous: bool) -> str:
    """Return why a container has no log, in the words of the kubelet; empty if it has one."""
    label = f"container {quoted(name)} in pod {quoted(text(metadata(pod), 'name'))}"
    found = status_of(pod, name)
    if found is None:
        return "" if is_running(pod, name) and not previous else f"{label} is not available"
    state, last = part(found, "state"), part(found, "lastState")
    if previous:
        has_run = text(part(last, "terminated"), "containerID")
        return "" if has_run else f"previous terminated {label} not found"
    if "running" in state or "terminated" in state or "terminated" in last:
        return ""
    if "waiting" in state:
        reason = text(part(state, "waiting"), "reason")
        return f"{label} is waiting to start: {_WAITING.get(reason, reason)}"
    return f"{label} is waiting to start - no logs yet"
