"""The agents of every node: kube-proxy and kindnet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta import yaml
from masthead_server.profiles.kind.facts import (
    CONTROL_PLANE,
    KINDNET_IMAGE,
    KUBEADM,
    KUBECTL,
    POD_NETWORK,
    SYSTEM,
    component_image,
)
from masthead_server.profiles.kind.manifests import (
    cluster_binding,
    cluster_role,
    config_map,
    host_path,
    namespaced_binding,
    namespaced_role,
    service_account,
)
from masthead_server.profiles.profile import ProfileObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["kindnet_objects", "proxy_objects"]

_PROXY: Final = "kube-proxy"
_KINDNET: Final = "kindnet"
_ENDPOINT: Final = f"https://{CONTROL_PLANE}:6443"
_ACCOUNT_FILES: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_LOCK: Final = "/run/xtables.lock"
_MODULES: Final = "/lib/modules"
_EVERYWHERE: Final = ({"operator": "Exists"},)


def proxy_objects() -> Iterator[ProfileObject]:
    """Yield kube-proxy, its configuration and its permissions."""
    configuration = {
        "config.conf": yaml.dump(_proxy_configuration()),
        "kubeconfig.conf": yaml.dump(_proxy_kubeconfig()),
    }
    yield config_map(_PROXY, configuration, KUBEADM, labels={"app": _PROXY})
    yield service_account(_PROXY, KUBEADM)
    yield cluster_binding("kubeadm:node-proxier", "system:node-proxier", f"ServiceAccount {_PROXY}", KUBEADM)
    yield namespaced_role(_PROXY, (f"get | core | configmaps | {_PROXY}",), KUBEADM)
    yield namespaced_binding(_PROXY, ("Group system:bootstrappers:kubeadm:default-node-token",), KUBEADM)
    yield _daemon_set(_PROXY, {"k8s-app": _PROXY}, {"k8s-app": _PROXY}, _proxy_pod(), KUBEADM)


def kindnet_objects() -> Iterator[ProfileObject]:
    """Yield kindnet, the network of pods, and its permissions."""
    rules = ("list watch | core | nodes pods namespaces", "list watch | networking.k8s.io | networkpolicies")
    yield cluster_role(_KINDNET, rules, KUBECTL)
    yield cluster_binding(_KINDNET, _KINDNET, f"ServiceAccount {_KINDNET}", KUBECTL)
    yield service_account(_KINDNET, KUBECTL)
    labels = {"app": _KINDNET, "k8s-app": _KINDNET, "tier": "node"}
    yield _daemon_set(_KINDNET, labels, {"app": _KINDNET}, _kindnet_pod(), KUBECTL)


def _daemon_set(name: str, labels: dict[str, str], selector: dict[str, str], pod: Plain, manager: str) -> ProfileObject:
    content = {
        "metadata": {"name": name, "namespace": SYSTEM, "labels": labels},
        "spec": {
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "updateStrategy": {"type": "RollingUpdate"},
        },
    }
    return ProfileObject("apps/daemonsets", content, manager)


def _proxy_pod() -> Plain:
    node_name = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {
        "name": _PROXY,
        "image": component_image(_PROXY),
        "imagePullPolicy": "IfNotPresent",
        "command": [
            f"/usr/local/bin/{_PROXY}",
            f"--config=/var/lib/{_PROXY}/config.conf",
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": [node_name],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"mountPath": f"/var/lib/{_PROXY}", "name": _PROXY},
            {"mountPath": _LOCK, "name": "xtables-lock"},
            {"mountPath": _MODULES, "name": "lib-modules", "readOnly": True},
        ],
    }
    return {
        "containers": [container],
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priorityClassName": "system-node-critical",
        "serviceAccountName": _PROXY,
        "tolerations": list(_EVERYWHERE),
        "volumes": [
            {"name": _PROXY, "configMap": {"name": _PROXY}},
            host_path("xtables-lock", _LOCK, "FileOrCreate"),
            host_path("lib-modules", _MODULES),
        ],
    }


def _kindnet_pod() -> Plain:
    def field(name: str, path: str) -> Plain:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}

    amounts = {"cpu": "100m", "memory": "50Mi"}
    container = {
        "name": "kindnet-cni",
        "image": KINDNET_IMAGE,
        "env": [
            field("HOST_IP", "status.hostIP"),
            field("POD_IP", "status.podIP"),
            {"name": "POD_SUBNET", "value": str(POD_NETWORK)},
            {"name": "CONTROL_PLANE_ENDPOINT", "value": f"{CONTROL_PLANE}:6443"},
        ],
        "resources": {"limits": amounts, "requests": amounts},
        "securityContext": {"capabilities": {"add": ["NET_RAW", "NET_ADMIN"]}, "privileged": False},
        "volumeMounts": [
            {"mountPath": "/etc/cni/net.d", "name": "cni-cfg"},
            {"mountPath": _LOCK, "name": "xtables-lock"},
            {"mountPath": _MODULES, "name": "lib-modules", "readOnly": True},
            {"mountPath": "/var/run/nri", "name": "nri-plugin"},
        ],
    }
    return {
        "containers": [container],
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "serviceAccountName": _KINDNET,
        "tolerations": list(_EVERYWHERE),
        "volumes": [
            host_path("cni-cfg", "/etc/cni/net.d"),
            host_path("xtables-lock", _LOCK, "FileOrCreate"),
            host_path("lib-modules", _MODULES),
            host_path("nri-plugin", "/var/run/nri"),
        ],
    }


def _proxy_configuration() -> Plain:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "bindAddress": "0.0.0.0",
        "clientConnection": {"kubeconfig": f"/var/lib/{_PROXY}/kubeconfig.conf"},
        "clusterCIDR": str(POD_NETWORK),
        "conntrack": {"maxPerCore": 0},
        "iptables": {"minSyncPeriod": "1s"},
        "mode": "iptables",
    }


def _proxy_kubeconfig() -> Plain:
    name = "default"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"cluster": {"certificate-authority": f"{_ACCOUNT_FILES}/ca.crt", "server": _ENDPOINT}, "name": name}
        ],
        "contexts": [{"context": {"cluster": name, "namespace": name, "user": name}, "name": name}],
        "current-context": name,
        "users": [{"name": name, "user": {"tokenFile": f"{_ACCOUNT_FILES}/token"}}],
    }
