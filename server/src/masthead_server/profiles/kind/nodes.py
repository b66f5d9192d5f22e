"""The nodes: ``kind-control-plane``, ``kind-worker``, ``kind-worker2`` and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.node_templates import NodeTemplate
from masthead_server.profiles.kind.facts import CLUSTER, CONTROL_PLANE, CONTROL_PLANE_LABEL, KUBERNETES_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["kind_nodes"]

_WORKER: Final = "kind-worker"
_LABELS: Final = {"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux"}
_ANNOTATIONS: Final = {
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
}
_NO_LOAD_BALANCER: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
_INFO: Final = {
    "containerRuntimeVersion": "containerd://2.2.0",
    "kernelVersion": "6.12.0",
    "kubeletVersion": KUBERNETES_VERSION,
    "osImage": "Debian GNU/Linux 12 (bookworm)",
}


def kind_nodes(count: int) -> list[NodeTemplate]:
    """Return the templates of ``count`` nodes: the control plane and its workers."""
    # A single node has to run everything, and take the traffic of load balancers: kind removes taint and label.
    is_alone = count == 1
    labels = {CONTROL_PLANE_LABEL: "", **({} if is_alone else {_NO_LOAD_BALANCER: ""})}
    taints = () if is_alone else (f"{CONTROL_PLANE_LABEL}:NoSchedule",)
    workers = [_node(f"{_WORKER}{number if number > 1 else ''}", {}) for number in range(1, count)]
    return [_node(CONTROL_PLANE, labels, taints), *workers]


def _node(name: str, labels: Mapping[str, str], taints: tuple[str, ...] = ()) -> NodeTemplate:
    return NodeTemplate(
        name=name,
        labels={**_LABELS, **labels},
        annotations=_ANNOTATIONS,
        taints=taints,
        provider_id=f"kind://docker/{CLUSTER}/{name}",
        info=_INFO,
    )
