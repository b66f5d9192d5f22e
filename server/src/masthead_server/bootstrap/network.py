"""How clients within a cluster reach its API server: the Service ``kubernetes``, its endpoints, the service network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

__all__ = ["ApiServerAddress"]

_NAME: Final = "kubernetes"
_NAMESPACE: Final = "default"
_SKIP_MIRROR: Final = "endpointslice.kubernetes.io/skip-mirror"


@dataclass(frozen=True, slots=True)
class ApiServerAddress:
    """Where the API server is reached, and what describes that as objects.

    Attributes:
        ip: The address on which it listens.
        port: Its port.
        cluster_ip: The address of the Service: the first one of the service network.
        network: The service network, such as ``10.0.0.0/16``.
    """

    ip: str
    port: int
    cluster_ip: str
    network: str

    def service(self) -> Plain:
        """Return the Service."""
        return {
            "metadata": {
                "name": _NAME,
                "namespace": _NAMESPACE,
                "labels": {"component": "apiserver", "provider": _NAME},
            },
            "spec": {
                "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": self.port}],
                "clusterIP": self.cluster_ip,
                "clusterIPs": [self.cluster_ip],
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "internalTrafficPolicy": "Cluster",
            },
            "status": {"loadBalancer": {}},
        }

    def endpoints(self) -> Plain:
        """Return the Endpoints of the Service."""
        return {
            # The slice below exists already; the mirroring controller would create a second one.
            "metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": {_SKIP_MIRROR: "true"}},
            "subsets": [
                {
                    "addresses": [{"ip": self.ip}],
                    "ports": [{"name": "https", "port": self.port, "protocol": "TCP"}],
                }
            ],
        }

    def endpoint_slice(self) -> Plain:
        """Return the EndpointSlice of the Service."""
        return {
            "metadata": {
                "name": _NAME,
                "namespace": _NAMESPACE,
                "generation": 1,
                "labels": {"kubernetes.io/service-name": _NAME},
            },
            "addressType": "IPv6" if ":" in self.ip else "IPv4",
            "endpoints": [{"addresses": [self.ip], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "protocol": "TCP", "port": self.port}],
        }

    def service_cidr(self, now: str) -> Plain:
        """Return the ServiceCIDR of the service network.

        Args:
            now: The time since which it is ready.
        """
        ready = {
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "",
            "message": "Kubernetes Service CIDR is ready",
        }
        return {
            "metadata": {"name": _NAME},
            "spec": {"cidrs": [self.network]},
            "status": {"conditions": [ready]},
        }
