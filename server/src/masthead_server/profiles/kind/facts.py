"""Names, networks and images of a kind cluster."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Final

__all__ = [
    "CLUSTER",
    "CONTROL_PLANE",
    "CONTROL_PLANE_LABEL",
    "COREDNS_IMAGE",
    "DNS_ADDRESS",
    "DNS_DOMAIN",
    "ETCD_IMAGE",
    "KINDNET_IMAGE",
    "KUBEADM",
    "KUBECTL",
    "KUBERNETES_VERSION",
    "POD_NETWORK",
    "PROVISIONER_HELPER_IMAGE",
    "PROVISIONER_IMAGE",
    "SERVICE_NETWORK",
    "SYSTEM",
    "component_image",
]

CLUSTER: Final = "kind"
CONTROL_PLANE: Final = "kind-control-plane"
CONTROL_PLANE_LABEL: Final = "node-role.kubernetes.io/control-plane"
SYSTEM: Final = "kube-system"
KUBERNETES_VERSION: Final = "v1.36.4"
SERVICE_NETWORK: Final = IPv4Network("10.96.0.0/16")
POD_NETWORK: Final = IPv4Network("10.244.0.0/16")
DNS_ADDRESS: Final = "10.96.0.10"
"""The tenth address of the service network, which kubeadm gives to DNS."""
DNS_DOMAIN: Final = "cluster.local"
KUBEADM: Final = "kubeadm"
"""The field manager of ``kubeadm init``."""
KUBECTL: Final = "kubectl-create"
"""The field manager of kind's manifests."""
ETCD_IMAGE: Final = "registry.k8s.io/etcd:3.6.8-0"
COREDNS_IMAGE: Final = "registry.k8s.io/coredns/coredns:v1.14.2"
KINDNET_IMAGE: Final = "docker.io/kindest/kindnetd:v20250512-df8de77b"
PROVISIONER_IMAGE: Final = "docker.io/kindest/local-path-provisioner:v20250214-acbabc1a"
PROVISIONER_HELPER_IMAGE: Final = "docker.io/kindest/local-path-helper:v20241212-8ac705d0"


def component_image(name: str) -> str:
    """Return the image of a component of Kubernetes."""
    return f"registry.k8s.io/{name}:{KUBERNETES_VERSION}"
