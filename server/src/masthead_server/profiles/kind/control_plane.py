"""The control plane: static pods of the first node, and the leases of their leaders."""

from __future__ import annotations

import hashlib
import uuid
from typing import TYPE_CHECKING, Final

from masthead_server.profiles.kind.facts import (
    CLUSTER,
    CONTROL_PLANE,
    DNS_DOMAIN,
    ETCD_IMAGE,
    POD_NETWORK,
    SERVICE_NETWORK,
    SYSTEM,
    component_image,
)
from masthead_server.profiles.profile import ProfileObject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from masthead_server.wire.plain import Plain

__all__ = ["control_plane_leases", "control_plane_pods"]

_PKI: Final = "/etc/kubernetes/pki"
_ETC: Final = "/etc/kubernetes"
_LEASES: Final = "coordination.k8s.io/leases"
_PORT: Final = 6443
_LEADER_SECONDS: Final = 15
_SERVER_SECONDS: Final = 3600
_EXTRA_AUTHORITIES: Final = ("/etc/ca-certificates", "/usr/local/share/ca-certificates", "/usr/share/ca-certificates")


def control_plane_pods(address: str) -> Iterator[Plain]:
    """Yield the mirror pods of etcd, kube-apiserver, kube-controller-manager and kube-scheduler.

    Args:
        address: The address of the node.
    """
    authorities = {
        "ca-certs": ("/etc/ssl/certs", "DirectoryOrCreate"),
        **{folder[1:].replace("/", "-"): (folder, "DirectoryOrCreate") for folder in _EXTRA_AUTHORITIES},
        "k8s-certs": (_PKI, "DirectoryOrCreate"),
    }
    yield _pod(
        _container("etcd", ETCD_IMAGE, _etcd_options(address), {"cpu": "100m", "memory": "100Mi"})
        | _probes(2381, live="/livez", ready="/readyz", start="/readyz", scheme="HTTP"),
        {"etcd-certs": (f"{_PKI}/etcd", "DirectoryOrCreate"), "etcd-data": ("/var/lib/etcd", "DirectoryOrCreate")},
        {"kubeadm.kubernetes.io/etcd.advertise-client-urls": f"https://{address}:2379"},
        writable=("etcd-certs", "etcd-data"),
    )
    yield _pod(
        _container("kube-apiserver", component_image("kube-apiserver"), _server_options(address), {"cpu": "250m"})
        | _probes(_PORT, live="/livez", ready="/readyz", start="/livez", host=address),
        authorities,
        {"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint": f"{address}:{_PORT}"},
    )
    manager = "kube-controller-manager"
    yield _pod(
        _container(manager, component_image(manager), _manager_options(), {"cpu": "200m"})
        | _probes(10257, live="/healthz", start="/healthz"),
        {**authorities, "kubeconfig": (f"{_ETC}/controller-manager.conf", "FileOrCreate")},
    )
    yield _pod(
        _container("kube-scheduler", component_image("kube-scheduler"), _scheduler_options(), {"cpu": "100m"})
        | _probes(10259, live="/livez", ready="/readyz", start="/livez"),
        {"kubeconfig": (f"{_ETC}/scheduler.conf", "FileOrCreate")},
    )


def control_plane_leases(now: str) -> Iterator[ProfileObject]:
    """Yield the leases of kube-apiserver, kube-controller-manager and kube-scheduler.

    Args:
        now: The time.
    """
    digits = hashlib.sha256(CONTROL_PLANE.encode()).hexdigest()
    server = f"apiserver-{digits[:26]}"
    labels = {"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": CONTROL_PLANE}
    meta = {"name": server, "namespace": SYSTEM, "labels": labels}
    spec = _held(f"{server}_{_uuid(server)}", _SERVER_SECONDS, now)
    yield ProfileObject(_LEASES, {"metadata": meta, "spec": spec}, "kube-apiserver")
    for component in ("kube-controller-manager", "kube-scheduler"):
        meta = {"name": component, "namespace": SYSTEM}
        spec = _held(f"{CONTROL_PLANE}_{_uuid(component)}", _LEADER_SECONDS, now)
        spec |= {"acquireTime": spec["renewTime"], "leaseTransitions": 0}
        yield ProfileObject(_LEASES, {"metadata": meta, "spec": spec}, component)


def _held(holder: str, seconds: int, now: str) -> Plain:
    return {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": f"{now.removesuffix('Z')}.000000Z"}


def _uuid(name: str) -> str:
    """Return a UUID derived from a name, so that a restarted server is the holder of its previous leases."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.{CLUSTER}"))


def _pod(
    container: Plain,
    paths: Mapping[str, tuple[str, str]],
    annotations: Mapping[str, str] | None = None,
    *,
    writable: Sequence[str] = (),
) -> Plain:
    """Return a static pod: one container, and the files of its node that it mounts."""
    name = container["name"]
    mounts: list[Plain] = []
    for volume, (path, _) in sorted(paths.items()):
        mounts.append({"mountPath": path, "name": volume, **({} if volume in writable else {"readOnly": True})})
    return {
        "metadata": {
            "name": name,
            "namespace": SYSTEM,
            "labels": {"component": name, "tier": "control-plane"},
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "containers": [{**container, "volumeMounts": mounts}],
            "hostNetwork": True,
            "priority": 2000001000,
            "priorityClassName": "system-node-critical",
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [
                {"name": volume, "hostPath": {"path": path, "type": kind}}
                for volume, (path, kind) in sorted(paths.items())
            ],
        },
    }


def _container(name: str, image: str, options: Mapping[str, str], requests: Mapping[str, str]) -> Plain:
    arguments = [f"--{option}={value}" for option, value in sorted(options.items())]
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [name, *arguments],
        "resources": {"requests": dict(requests)},
    }


def _probes(
    port: int, *, live: str, start: str, ready: str = "", host: str = "127.0.0.1", scheme: str = "HTTPS"
) -> Plain:
    def probe(path: str, delay: int, failures: int, period: int) -> Plain:
        return {
            "httpGet": {"host": host, "path": path, "port": "probe-port", "scheme": scheme},
            "initialDelaySeconds": delay,
            "timeoutSeconds": 15,
            "failureThreshold": failures,
            "periodSeconds": period,
        }

    probes = {"livenessProbe": probe(live, 10, 8, 10), "startupProbe": probe(start, 10, 24, 10)}
    if ready:
        probes["readinessProbe"] = probe(ready, 0, 3, 1)
    return {**probes, "ports": [{"containerPort": port, "name": "probe-port", "protocol": "TCP"}]}


def _etcd_options(address: str) -> Mapping[str, str]:
    certificates = f"{_PKI}/etcd"
    return {
        "advertise-client-urls": f"https://{address}:2379",
        "cert-file": f"{certificates}/server.crt",
        "client-cert-auth": "true",
        "data-dir": "/var/lib/etcd",
        "feature-gates": "InitialCorruptCheck=true",
        "initial-advertise-peer-urls": f"https://{address}:2380",
        "initial-cluster": f"{CONTROL_PLANE}=https://{address}:2380",
        "key-file": f"{certificates}/server.key",
        "listen-client-urls": f"https://127.0.0.1:2379,https://{address}:2379",
        "listen-metrics-urls": "http://127.0.0.1:2381",
        "listen-peer-urls": f"https://{address}:2380",
        "name": CONTROL_PLANE,
        "peer-cert-file": f"{certificates}/peer.crt",
        "peer-client-cert-auth": "true",
        "peer-key-file": f"{certificates}/peer.key",
        "peer-trusted-ca-file": f"{certificates}/ca.crt",
        "snapshot-count": "10000",
        "trusted-ca-file": f"{certificates}/ca.crt",
        "watch-progress-notify-interval": "5s",
    }


def _server_options(address: str) -> Mapping[str, str]:
    return {
        "advertise-address": address,
        "allow-privileged": "true",
        "authorization-mode": "Node,RBAC",
        "client-ca-file": f"{_PKI}/ca.crt",
        "enable-admission-plugins": "NodeRestriction",
        "enable-bootstrap-token-auth": "true",
        "etcd-cafile": f"{_PKI}/etcd/ca.crt",
        "etcd-certfile": f"{_PKI}/apiserver-etcd-client.crt",
        "etcd-keyfile": f"{_PKI}/apiserver-etcd-client.key",
        "etcd-servers": "https://127.0.0.1:2379",
        "kubelet-client-certificate": f"{_PKI}/apiserver-kubelet-client.crt",
        "kubelet-client-key": f"{_PKI}/apiserver-kubelet-client.key",
        "kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname",
        "proxy-client-cert-file": f"{_PKI}/front-proxy-client.crt",
        "proxy-client-key-file": f"{_PKI}/front-proxy-client.key",
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-client-ca-file": f"{_PKI}/front-proxy-ca.crt",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-username-headers": "X-Remote-User",
        "runtime-config": "",
        "secure-port": str(_PORT),
        "service-account-issuer": f"https://kubernetes.default.svc.{DNS_DOMAIN}",
        "service-account-key-file": f"{_PKI}/sa.pub",
        "service-account-signing-key-file": f"{_PKI}/sa.key",
        "service-cluster-ip-range": str(SERVICE_NETWORK),
        "tls-cert-file": f"{_PKI}/apiserver.crt",
        "tls-private-key-file": f"{_PKI}/apiserver.key",
    }


def _manager_options() -> Mapping[str, str]:
    config = f"{_ETC}/controller-manager.conf"
    return {
        "allocate-node-cidrs": "true",
        "authentication-kubeconfig": config,
        "authorization-kubeconfig": config,
        "bind-address": "127.0.0.1",
        "client-ca-file": f"{_PKI}/ca.crt",
        "cluster-cidr": str(POD_NETWORK),
        "cluster-name": CLUSTER,
        "cluster-signing-cert-file": f"{_PKI}/ca.crt",
        "cluster-signing-key-file": f"{_PKI}/ca.key",
        "controllers": "*,bootstrapsigner,tokencleaner",
        "enable-hostpath-provisioner": "true",
        "kubeconfig": config,
        "leader-elect": "true",
        "requestheader-client-ca-file": f"{_PKI}/front-proxy-ca.crt",
        "root-ca-file": f"{_PKI}/ca.crt",
        "service-account-private-key-file": f"{_PKI}/sa.key",
        "service-cluster-ip-range": str(SERVICE_NETWORK),
        "use-service-account-credentials": "true",
    }


def _scheduler_options() -> Mapping[str, str]:
    config = f"{_ETC}/scheduler.conf"
    return {
        "authentication-kubeconfig": config,
        "authorization-kubeconfig": config,
        "bind-address": "127.0.0.1",
        "kubeconfig": config,
        "leader-elect": "true",
    }
