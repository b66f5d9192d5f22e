"""The node of the kubelet, registered at the start of the server or with the first scheduled pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectClient, ObjectRef, set_or_drop
from masthead_server.kubelet.phases import HOST_IP
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["NODE_NAME", "register_node"]

NODE_NAME: Final = "masthead-node"
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


async def register_node(client: ObjectClient) -> Plain | None:
    """Register the node, unless it exists; it is ready, and takes pods.

    Args:
        client: Writes as the kubelet.

    Returns:
        The node, if it was registered now.

    Raises:
        JournalError: It could not be stored.
    """
    cluster, ref = client.cluster, ObjectRef("nodes", NODE_NAME)
    if cluster.storage.table(ref.table).get(ref.key) is not None:
        return None
    labels = {
        "kubernetes.io/hostname": NODE_NAME,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    node = await client.create("nodes", "", {"metadata": {"name": NODE_NAME, "labels": labels}, "spec": {}})
    now = cluster.now()
    await client.update(ref, lambda found: found.update(status=_status(now)), subresource="status")
    # Admission taints new nodes; when they are ready, the node lifecycle controller removes that.
    await ObjectClient(cluster).update(ref, _remove_taint)
    return node


def _remove_taint(node: Plain) -> None:
    spec = part(node, "spec")
    set_or_drop(spec, "taints", [taint for taint in items(spec, "taints") if text(taint, "key") != _NOT_READY])


def _status(now: str) -> Plain:
    conditions = [_condition(kind, "False", reason, message, now) for kind, reason, message in _PRESSURES]
    conditions.append(_condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now))
    return {
        "capacity": _CAPACITY,
        "allocatable": _CAPACITY,
        "conditions": conditions,
        "addresses": [
            {"type": "InternalIP", "address": HOST_IP},
            {"type": "Hostname", "address": NODE_NAME},
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
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> Plain:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
