"""Defaults of Services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_AFFINITY_SECONDS: Final = 10800


def _fill_service_port(port: Plain) -> None:
    if not port.get("targetPort"):
        port["targetPort"] = port.get("port", 0)


def _fill_affinity(spec: Plain) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = part(part(spec, "sessionAffinityConfig"), "clientIP")
        # A partial configuration is replaced as a whole, as in kube-apiserver.
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _fill_service_type(spec: Plain) -> None:
    _fill_affinity(spec)
    kind = spec["type"]
    outside = kind in {"LoadBalancer", "NodePort"} or (kind == "ClusterIP" and spec.get("externalIPs"))
    if outside and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in {"NodePort", "LoadBalancer", "ClusterIP"} and spec.get("internalTrafficPolicy") is None:
        spec["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        spec["allocateLoadBalancerNodePorts"] = True
    if kind == "ExternalName":
        # It was once filled in by mistake, and is left out on every read since.
        spec.pop("internalTrafficPolicy", None)


_SERVICE: Final = shape(
    always={
        "spec": shape(
            blank={"sessionAffinity": "None", "type": "ClusterIP"},
            inside={"ports": for_each(shape(blank={"protocol": "TCP"}, then=_fill_service_port))},
            then=_fill_service_type,
        )
    }
)


def fill_service(service: Plain) -> None:
    """Set the defaults of a Service."""
    _SERVICE(service)
    if service["spec"]["type"] == "LoadBalancer":
        for ingress in items(part(part(service, "status"), "loadBalancer"), "ingress"):
            # Only an address has a mode; a host name has none.
            if ingress.get("ip") and ingress.get("ipMode") is None:
                ingress["ipMode"] = "VIP"
