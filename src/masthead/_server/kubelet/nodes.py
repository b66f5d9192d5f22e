"""The kubelet's node, which is registered when the first pod is scheduled to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.controllers.objects import ObjectRef
from masthead._server.kubelet.phases import HOST_IP

if TYPE_CHECKING:
    from masthead._server.controllers.objects import ObjectClient
    from masthead._server.wire.plain import Plain

__all__ = ["NODE_NAME", "register_node"]

NODE_NAME: Final = "masthead-node"
_CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def register_node(client: ObjectClient) -> None:
    """Create the node, unless it exists; it is ready.

    Raises:
        JournalError: It could not be stored.
    """
    ref = ObjectRef("nodes", NODE_NAME)
    if client.load(ref) is not None:
        return
    labels = {
        "kubernetes.io/hostname": NODE_NAME,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    client.create("nodes", "", {"metadata": {"name": NODE_NAME, "labels": labels}, "spec": {}})
    now = client.cluster.now()
    client.update(ref, lambda node: node.update(status=_status(now)), subresource="status")


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
