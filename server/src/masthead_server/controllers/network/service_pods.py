"""The part of a pod that a Service exposes: addresses and ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import Plain, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.controllers.objects import ObjectRef
    from masthead_server.controllers.pod_index import IndexedPod

__all__ = ["HEADLESS", "address_of", "copy_labels", "is_candidate", "is_headless", "ports_of", "target_reference"]

HEADLESS: Final = "service.kubernetes.io/headless"


def is_candidate(pod: IndexedPod, *, allows_terminating: bool) -> bool:
    """Tell whether a pod has an address and may still run."""
    has_address = bool(pod.status.pod_ip or pod.status.pod_ips)
    return has_address and not pod.is_finished and (allows_terminating or not pod.is_terminating)


def is_headless(service: Plain) -> bool:
    """Tell whether a Service has no cluster IP."""
    spec = part(service, "spec")
    return text(spec, "clusterIP") in {"", "None"} and text(spec, "type") != "ExternalName"


def address_of(pod: IndexedPod, family: str) -> str:
    """Return the address of a pod in an IP family, ``IPv4`` or ``IPv6``; empty if it has none."""
    addresses = pod.ips or [pod.status.pod_ip]
    return next((address for address in addresses if (":" in address) == (family == "IPv6")), "")


def ports_of(service: Plain, pod: IndexedPod) -> list[Plain]:
    """Resolve the target ports of a Service for a pod, without the named ports that the pod lacks."""
    found: list[Plain] = []
    for port in items(part(service, "spec"), "ports"):
        number = _find_number(port, pod)
        if number is None:
            continue
        entry: Plain = {"name": text(port, "name"), "port": number, "protocol": text(port, "protocol") or "TCP"}
        if port.get("appProtocol"):
            entry["appProtocol"] = port["appProtocol"]
        found.append(entry)
    return found


def _find_number(port: Plain, pod: IndexedPod) -> int | None:
    target: int | str | None = port.get("targetPort")
    if not isinstance(target, str):
        return target or port.get("port")
    protocol = text(port, "protocol") or "TCP"
    # A sidecar is an init container that keeps running, and so may serve a port.
    sidecars = [container for container in pod.spec.init_containers if container.restart_policy == "Always"]
    for container in (*pod.spec.containers, *sidecars):
        for offered in container.ports:
            if (offered.name, offered.protocol) == (target, protocol):
                return offered.container_port
    return None


def target_reference(ref: ObjectRef, pod: IndexedPod) -> Plain:
    """Return the ``targetRef`` of an endpoint."""
    return {"kind": "Pod", "namespace": ref.namespace, "name": ref.name, "uid": pod.metadata.uid}


def copy_labels(service: Plain, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of the Endpoints or slices of a Service: the Service's labels, and the manager's."""
    labels = {**part(metadata(service), "labels"), **extra}
    labels.pop(HEADLESS, None)
    return {**labels, HEADLESS: ""} if is_headless(service) else labels
