"""The objects of ``kubeadm init``: the configuration of the cluster, and roles for joining nodes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from masthead._meta import yaml
from masthead_server.profiles.kind.facts import (
    CLUSTER,
    CONTROL_PLANE,
    DNS_ADDRESS,
    DNS_DOMAIN,
    KUBEADM,
    KUBERNETES_VERSION,
    POD_NETWORK,
    SERVICE_NETWORK,
)
from masthead_server.profiles.kind.manifests import (
    cluster_binding,
    cluster_role,
    config_map,
    namespaced_binding,
    namespaced_role,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.profiles.profile import ProfileContext, ProfileObject
    from masthead_server.wire.plain import Plain

__all__ = ["ADMINISTRATORS", "kubeadm_objects"]

ADMINISTRATORS: Final = "kubeadm:cluster-admins"
"""The group of administrators, and their ClusterRoleBinding."""
_JOINING: Final = "Group system:bootstrappers:kubeadm:default-node-token"
_NODES: Final = "Group system:nodes"
_PUBLIC: Final = "kube-public"
_APPROVER: Final = "system:certificates.k8s.io:certificatesigningrequests"
_CLUSTER_BINDINGS: Final = (
    (ADMINISTRATORS, "cluster-admin", f"Group {ADMINISTRATORS}"),
    ("kubeadm:apiserver-kubelet-client", "system:kubelet-api-admin", "User kube-apiserver-kubelet-client"),
    ("kubeadm:get-nodes", "kubeadm:get-nodes", _JOINING),
    ("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", _JOINING),
    ("kubeadm:node-autoapprove-bootstrap", f"{_APPROVER}:nodeclient", _JOINING),
    ("kubeadm:node-autoapprove-certificate-rotation", f"{_APPROVER}:selfnodeclient", _NODES),
)
"""Name, ClusterRole and subject of each ClusterRoleBinding."""
_READERS: Final = {
    "kubeadm:nodes-kubeadm-config": "kubeadm-config",
    "kubeadm:kubelet-config": "kubelet-config",
}
"""The Roles that let nodes read a ConfigMap."""
_BOOTSTRAP_SIGNER: Final = "kubeadm:bootstrap-signer-clusterinfo"


def kubeadm_objects(context: ProfileContext) -> Iterator[ProfileObject]:
    """Yield ConfigMaps, Roles and bindings."""
    for name, role, subject in _CLUSTER_BINDINGS:
        yield cluster_binding(name, role, subject, KUBEADM)
    yield cluster_role("kubeadm:get-nodes", ("get | core | nodes",), KUBEADM)
    yield config_map("kubeadm-config", {"ClusterConfiguration": yaml.dump(_cluster_configuration())}, KUBEADM)
    yield config_map("kubelet-config", {"kubelet": yaml.dump(_kubelet_configuration())}, KUBEADM)
    for name, read in _READERS.items():
        yield namespaced_role(name, (f"get | core | configmaps | {read}",), KUBEADM)
        yield namespaced_binding(name, (_JOINING, _NODES), KUBEADM)
    # Without credentials: a joining node reads the authority first.
    yield config_map("cluster-info", {"kubeconfig": yaml.dump(_public_kubeconfig(context))}, KUBEADM, _PUBLIC)
    yield namespaced_role(_BOOTSTRAP_SIGNER, ("get | core | configmaps | cluster-info",), KUBEADM, _PUBLIC)
    yield namespaced_binding(_BOOTSTRAP_SIGNER, ("User system:anonymous",), KUBEADM, _PUBLIC)


def _cluster_configuration() -> Plain:
    return {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "apiServer": {
            "certSANs": ["localhost", "127.0.0.1"],
            "extraArgs": [{"name": "runtime-config", "value": ""}],
        },
        "caCertificateValidityPeriod": "87600h0m0s",
        "certificateValidityPeriod": "8760h0m0s",
        "certificatesDir": "/etc/kubernetes/pki",
        "clusterName": CLUSTER,
        "controlPlaneEndpoint": f"{CONTROL_PLANE}:6443",
        "controllerManager": {"extraArgs": [{"name": "enable-hostpath-provisioner", "value": "true"}]},
        "dns": {},
        "encryptionAlgorithm": "RSA-2048",
        "etcd": {"local": {"dataDir": "/var/lib/etcd"}},
        "imageRepository": "registry.k8s.io",
        "kubernetesVersion": KUBERNETES_VERSION,
        "networking": {
            "dnsDomain": DNS_DOMAIN,
            "podSubnet": str(POD_NETWORK),
            "serviceSubnet": str(SERVICE_NETWORK),
        },
        "proxy": {},
        "scheduler": {},
    }


def _kubelet_configuration() -> Plain:
    none = "0%"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "cgroupRoot": "/kubelet",
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": DNS_DOMAIN,
        # The disk belongs to the machine of the containers, so that a kubelet must not clean it up.
        "evictionHard": {"imagefs.available": none, "nodefs.available": none, "nodefs.inodesFree": none},
        "failSwapOn": False,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "imageGCHighThresholdPercent": 100,
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }


def _public_kubeconfig(context: ProfileContext) -> Plain:
    cluster: Plain = {"server": f"https://{CONTROL_PLANE}:6443"}
    if context.authority:
        cluster["certificate-authority-data"] = base64.b64encode(context.authority.encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"cluster": cluster, "name": ""}],
        "contexts": None,
        "current-context": "",
        "users": None,
    }
