"""In-place resizes of pods: the affected containers, the room on the node, the status. Pure decisions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import parse_quantity
from masthead_server.kubelet.container_states import is_sidecar
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["actuate", "allocate", "find_shortage", "resized_containers", "restarted_containers", "summarize"]

_FIELDS: Final = ("initContainerStatuses", "containerStatuses")
_RESOURCES: Final = ("cpu", "memory")
_ENDED: Final = frozenset({"Succeeded", "Failed"})


def resized_containers(pod: Plain) -> list[str]:
    """Return the names of the containers whose actual resources differ from their spec."""
    return [text(found, "name") for found, container in _running(pod) if _differ(found, container)]


def restarted_containers(pod: Plain) -> list[str]:
    """Return the names of the containers that restart because of their resize policy."""
    return [
        text(found, "name")
        for found, container in _running(pod)
        if any(_changes(found, container, text(policy, "resourceName")) for policy in _restart_policies(container))
    ]


def _restart_policies(container: Plain) -> list[Plain]:
    policies = items(container, "resizePolicy")
    return [policy for policy in policies if text(policy, "restartPolicy") == "RestartContainer"]


def _running(pod: Plain) -> Iterator[tuple[Plain, Plain]]:
    """Yield status and spec of the containers that can be resized."""
    spec, status = part(pod, "spec"), part(pod, "status")
    sidecars = [container for container in items(spec, "initContainers") if is_sidecar(container)]
    containers = {text(container, "name"): container for container in (*sidecars, *items(spec, "containers"))}
    for field in _FIELDS:
        for found in items(status, field):
            container = containers.get(text(found, "name"))
            # A status from a test may lack resources.
            if container is not None and "running" in part(found, "state") and "resources" in found:
                yield found, container


def _differ(found: Plain, container: Plain) -> bool:
    return any(_changes(found, container, resource) for resource in _RESOURCES)


def _changes(found: Plain, container: Plain, resource: str) -> bool:
    before, after = part(found, "resources"), part(container, "resources")
    return any(
        _amount(part(before, side).get(resource)) != _amount(part(after, side).get(resource))
        for side in ("requests", "limits")
    )


def _amount(quantity: object) -> int | None:
    return None if quantity is None else parse_quantity(str(quantity)).nanos


def find_shortage(pod: Plain, allocatable: Plain, others: Iterable[Plain]) -> str:
    """Return which resources a node lacks for a pod; empty if it has room.

    Args:
        pod: The pod.
        allocatable: The allocatable resources of the node.
        others: The other pods of the node.
    """
    active = [other for other in others if text(part(other, "status"), "phase") not in _ENDED]
    for resource in _RESOURCES:
        if resource not in allocatable:
            continue
        scale = 10**6 if resource == "cpu" else 10**9  # thousandths of a CPU, and bytes
        requested = sum(_request_of(container, resource) for container in items(part(pod, "spec"), "containers"))
        used = sum(_allocation_of(other, resource) for other in active)
        capacity = parse_quantity(str(allocatable[resource])).nanos
        if requested and requested + used > capacity:
            amounts = f"requested: {requested // scale}, used: {used // scale}, capacity: {capacity // scale}"
            return f"Node didn't have enough resource: {resource}, {amounts}"
    return ""


def _request_of(container: Plain, resource: str) -> int:
    return _amount(part(part(container, "resources"), "requests").get(resource)) or 0


def _allocation_of(pod: Plain, resource: str) -> int:
    """Return the allocated amount of a resource; before the start of a pod, the requested amount."""
    statuses = {text(found, "name"): found for found in items(part(pod, "status"), "containerStatuses")}
    total = 0
    for container in items(part(pod, "spec"), "containers"):
        found = statuses.get(text(container, "name"), {})
        known = part(found, "allocatedResources").get(resource) if "resources" in found else None
        total += _request_of(container, resource) if known is None else _amount(known) or 0
    return total


def allocate(pod: Plain) -> None:
    """Allocate the resources of the spec to the containers of a pod."""
    for found, container in _running(pod):
        requests = part(part(container, "resources"), "requests")
        if requests:
            found["allocatedResources"] = dict(requests)
        else:
            found.pop("allocatedResources", None)


def actuate(pod: Plain) -> None:
    """Set the actual resources in the status to those of the spec, which are allocated."""
    for found, container in _running(pod):
        resources = part(container, "resources")
        found["resources"] = {key: resources[key] for key in resources}


def summarize(pod: Plain, error: str = "") -> str:
    """Format the resources of a pod for Events."""
    spec = part(pod, "spec")
    found: Plain = {}
    for kind in ("initContainers", "containers"):
        containers = [
            {"name": text(container, "name"), "resources": dict(sorted(part(container, "resources").items()))}
            for container in items(spec, kind)
        ]
        if containers:
            found[kind] = containers
    found["generation"] = metadata(pod).get("generation")
    if error:
        found["error"] = error
    return json.dumps(found, separators=(",", ":"))
