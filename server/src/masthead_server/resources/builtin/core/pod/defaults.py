"""Defaults of Pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead_server.resources.builtin.core.pod.pod_level_resources import fill_pod_resources
from masthead_server.resources.defaulting.fill import AMOUNTS, for_each, round_up, shape
from masthead_server.resources.defaulting.pod_template import POD_SPEC
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_CONTAINER_STATUS: Final = shape(inside={"allocatedResources": round_up, "resources": AMOUNTS})
_STATUS: Final = shape(
    inside={
        "initContainerStatuses": for_each(_CONTAINER_STATUS),
        "containerStatuses": for_each(_CONTAINER_STATUS),
        "ephemeralContainerStatuses": for_each(_CONTAINER_STATUS),
        "allocatedResources": round_up,
        "resources": AMOUNTS,
    }
)


def _request_what_is_limited(container: Plain) -> None:
    resources = container.get("resources")
    if resources and resources.get("limits"):
        # Only here and not in templates: a template keeps what its author wrote.
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}


def _take_host_ports(container: Plain) -> None:
    for port in items(container, "ports"):
        # On the host's network, a container's port is the host's port.
        if not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort")


def _fill_addresses(status: Plain) -> None:
    address, addresses = status.get("podIP"), items(status, "podIPs")
    # The older field wins: a client that knows podIP only has changed that one.
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses:
        status["podIP"] = addresses[0].get("ip")


def fill_pod(pod: Plain) -> None:
    """Set the defaults of a Pod: those of its template, and those of Pods alone."""
    spec = part(pod, "spec")
    pod["spec"] = spec
    for name in ("containers", "initContainers"):
        for container in cast("list[Plain]", spec.get(name) or []):
            _request_what_is_limited(container)
            if spec.get("hostNetwork"):
                _take_host_ports(container)
    if spec.get("resources") is not None:
        fill_pod_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    # kube-apiserver corrects a negative grace period instead of refusing it.
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    POD_SPEC(spec)
    status = part(pod, "status")
    if status:
        _STATUS(status)
        _fill_addresses(status)
