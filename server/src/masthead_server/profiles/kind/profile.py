"""`KindProfile`: all of a kind cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.static_pods import StaticPod
from masthead_server.profiles.kind.cluster_dns import dns_objects
from masthead_server.profiles.kind.control_plane import control_plane_leases, control_plane_pods
from masthead_server.profiles.kind.facts import CLUSTER, CONTROL_PLANE, SERVICE_NETWORK
from masthead_server.profiles.kind.kubeadm import ADMINISTRATORS, kubeadm_objects
from masthead_server.profiles.kind.local_path import storage_objects
from masthead_server.profiles.kind.node_agents import kindnet_objects, proxy_objects
from masthead_server.profiles.kind.nodes import kind_nodes
from masthead_server.profiles.profile import ClusterAdministrator

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Network

    from masthead_server.node_templates import NodeTemplate
    from masthead_server.profiles.profile import ProfileContext, ProfileObject

__all__ = ["KindProfile"]


class KindProfile:
    """A cluster as created by ``kind create cluster``."""

    service_network: Final[IPv4Network] = SERVICE_NETWORK
    authorization: Final = "node,rbac"
    admission: Final = ("NodeRestriction",)
    administrator: Final = ClusterAdministrator("kubernetes-admin", (ADMINISTRATORS,), f"kind-{CLUSTER}")

    def nodes(self, count: int) -> list[NodeTemplate]:
        """Return the templates of ``count`` nodes; at least one."""
        return kind_nodes(count)

    def objects(self, context: ProfileContext) -> Iterator[ProfileObject]:
        """Yield the objects in the order of their creation, static pods excepted."""
        yield from kubeadm_objects(context)
        yield from dns_objects()
        yield from proxy_objects()
        yield from kindnet_objects()
        yield from storage_objects()

    def static_pods(self, context: ProfileContext) -> Iterator[StaticPod]:
        """Yield the pods of the control plane."""
        for pod in control_plane_pods(context.address):
            yield StaticPod(CONTROL_PLANE, pod)

    def leases(self, context: ProfileContext) -> Iterator[ProfileObject]:
        """Yield the leases of the control plane."""
        return control_plane_leases(context.now)
