"""DNS of the cluster: CoreDNS behind the Service ``kube-dns``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.profiles.kind.facts import (
    CONTROL_PLANE_LABEL,
    COREDNS_IMAGE,
    DNS_ADDRESS,
    DNS_DOMAIN,
    KUBEADM,
    SYSTEM,
)
from masthead_server.profiles.kind.manifests import cluster_binding, cluster_role, config_map, service_account
from masthead_server.profiles.profile import ProfileObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["dns_objects"]

_NAME: Final = "coredns"
_LABELS: Final = {"k8s-app": "kube-dns"}
_METRICS: Final = 9153
_DNS_PORT: Final = 53
_COREFILE: Final = f"""\
.:53 {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes {DNS_DOMAIN} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :{_METRICS}
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {DNS_DOMAIN}
       disable denial {DNS_DOMAIN}
    }}
    loop
    reload
    loadbalance
}}
"""


def dns_objects() -> Iterator[ProfileObject]:
    """Yield the objects."""
    yield config_map(_NAME, {"Corefile": _COREFILE}, KUBEADM)
    rules = ("list watch | core | endpoints services pods namespaces", "list watch | discovery.k8s.io | endpointslices")
    yield cluster_role("system:coredns", rules, KUBEADM)
    yield cluster_binding("system:coredns", "system:coredns", f"ServiceAccount {_NAME}", KUBEADM)
    yield service_account(_NAME, KUBEADM)
    yield ProfileObject("apps/deployments", _deployment(), KUBEADM)
    yield ProfileObject("services", _service(), KUBEADM)


def _service() -> Plain:
    ports = (("dns", _DNS_PORT, "UDP"), ("dns-tcp", _DNS_PORT, "TCP"), ("metrics", _METRICS, "TCP"))
    return {
        "metadata": {
            "name": "kube-dns",
            "namespace": SYSTEM,
            "labels": {**_LABELS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
            "annotations": {"prometheus.io/port": str(_METRICS), "prometheus.io/scrape": "true"},
        },
        "spec": {
            "clusterIP": DNS_ADDRESS,
            "ports": [
                {"name": name, "port": port, "protocol": protocol, "targetPort": port} for name, port, protocol in ports
            ],
            "selector": _LABELS,
        },
    }


def _deployment() -> Plain:
    expression = {"key": "k8s-app", "operator": "In", "values": ["kube-dns"]}
    apart = {
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchExpressions": [expression]},
            "topologyKey": "kubernetes.io/hostname",
        },
    }
    return {
        "metadata": {"name": _NAME, "namespace": SYSTEM, "labels": _LABELS},
        "spec": {
            "replicas": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": _LABELS},
            "template": {
                "metadata": {"labels": _LABELS},
                "spec": {
                    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [apart]}},
                    "containers": [_container()],
                    "dnsPolicy": "Default",
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "priorityClassName": "system-cluster-critical",
                    "serviceAccountName": _NAME,
                    "tolerations": [
                        {"key": "CriticalAddonsOnly", "operator": "Exists"},
                        {"key": CONTROL_PLANE_LABEL, "effect": "NoSchedule"},
                    ],
                    "volumes": [
                        {
                            "name": "config-volume",
                            "configMap": {"name": _NAME, "items": [{"key": "Corefile", "path": "Corefile"}]},
                        }
                    ],
                },
            },
        },
    }


def _container() -> Plain:
    ports = (
        (_DNS_PORT, "dns", "UDP"),
        (_DNS_PORT, "dns-tcp", "TCP"),
        (_METRICS, "metrics", "TCP"),
        (8080, "liveness-probe", "TCP"),
        (8181, "readiness-probe", "TCP"),
    )
    return {
        "name": _NAME,
        "image": COREDNS_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [{"containerPort": port, "name": name, "protocol": protocol} for port, name, protocol in ports],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"mountPath": "/etc/coredns", "name": "config-volume", "readOnly": True}],
    }
