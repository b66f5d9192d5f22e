"""Nodes and their status, as a kubelet writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.node_addresses import host_ip, pod_cidr
from masthead_server.node_templates import taints_of
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.node_templates import PlannedNode
    from masthead_server.wire.plain import Plain

__all__ = ["complete_status", "node_object", "node_status", "report_ready"]

_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def node_object(ordinal: int, planned: PlannedNode) -> Plain:
    """Return the node object to register, without a status."""
    template = planned.template
    labels = {
        "kubernetes.io/hostname": planned.name,
        "kubernetes.io/os": template.operating_system,
        "kubernetes.io/arch": template.architecture,
        **({"topology.kubernetes.io/region": template.region} if template.region else {}),
        **({"topology.kubernetes.io/zone": planned.zone} if planned.zone else {}),
        **template.labels,
    }
    network = pod_cidr(ordinal)
    spec: Plain = {"podCIDR": network, "podCIDRs": [network]}
    if taints := taints_of(template):
        spec["taints"] = taints
    if template.unschedulable:
        spec["unschedulable"] = True
    if planned.provider_id:
        spec["providerID"] = planned.provider_id
    annotations = {"annotations": dict(template.annotations)} if template.annotations else {}
    return {"metadata": {"name": planned.name, "labels": labels, **annotations}, "spec": spec}


def node_status(ordinal: int, planned: PlannedNode, now: str) -> Plain:
    """Return the status of a node that is ready."""
    template = planned.template
    capacity = {**_CAPACITY, **{name: str(value) for name, value in template.capacity.items()}}
    return {
        "capacity": capacity,
        "allocatable": {**capacity, **{name: str(value) for name, value in template.allocatable.items()}},
        "conditions": _ready_conditions(now),
        "addresses": [
            {"type": "InternalIP", "address": host_ip(ordinal)},
            {"type": "Hostname", "address": planned.name},
        ],
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": "",
            "osImage": "Masthead",
            "containerRuntimeVersion": "masthead://0",
            "kubeletVersion": "v1.36.4",
            "kubeProxyVersion": "",
            "operatingSystem": template.operating_system,
            "architecture": template.architecture,
            **template.info,
        },
    }


def complete_status(node: Plain, address: str, now: str) -> None:
    """Complete the status of a node that another client created, and mark the node as ready."""
    from masthead_server.node_templates import NodeTemplate, PlannedNode

    name, known = text(metadata(node), "name"), part(node, "status")
    status = node_status(0, PlannedNode(name, NodeTemplate(), "", ""), now)
    status["addresses"] = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
    # A kubelet reports all its resources: add CPUs and pods to a node that was created with memory only.
    capacity = {**status["capacity"], **(part(known, "capacity") or part(known, "allocatable"))}
    info = {field: value for field, value in part(known, "nodeInfo").items() if value}
    kinds = {text(condition, "type") for condition in items(known, "conditions")}
    new = [condition for condition in status["conditions"] if text(condition, "type") not in kinds]
    node["status"] = {
        **status,
        **{field: value for field, value in known.items() if value},
        "allocatable": {**capacity, **part(known, "allocatable")},
        "capacity": capacity,
        "conditions": [*items(known, "conditions"), *new],
        "nodeInfo": {**status["nodeInfo"], **info},
    }


def report_ready(node: Plain, now: str) -> None:
    """Set the conditions of a node whose kubelet runs again."""
    status = node.setdefault("status", {})
    known = {text(condition, "type"): condition for condition in items(status, "conditions")}
    for condition in _ready_conditions(now):
        before = known.get(text(condition, "type"), {})
        # lastTransitionTime is the time of a change of the status, not of a report.
        if text(before, "status") == condition["status"]:
            condition["lastTransitionTime"] = before.get("lastTransitionTime", now)
        known[text(condition, "type")] = condition
    status["conditions"] = list(known.values())


def _ready_conditions(now: str) -> list[Plain]:
    conditions = [_condition(kind, "False", reason, message, now) for kind, reason, message in _PRESSURES]
    return [*conditions, _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now)]


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> Plain:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
