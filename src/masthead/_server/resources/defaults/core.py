"""Defaults of the core kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.defaulting.fill import Fill, each, round_up, shape
from masthead._server.resources.defaults.pods import CLAIM_SPEC, STORAGE, TEMPLATE, fill_pod
from masthead._server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_TCP: Final = {"protocol": "TCP"}
_AFFINITY_SECONDS: Final = 10800


def _fill_service_port(port: Plain) -> None:
    if not port.get("targetPort"):
        port["targetPort"] = port.get("port", 0)


def _fill_affinity(spec: Plain) -> None:
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = part(part(spec, "sessionAffinityConfig"), "clientIP")
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
            inside={"ports": each(shape(blank=_TCP, then=_fill_service_port))},
            then=_fill_service_type,
        )
    }
)


def _fill_service(service: Plain) -> None:
    _SERVICE(service)
    if service["spec"]["type"] == "LoadBalancer":
        for ingress in items(part(part(service, "status"), "loadBalancer"), "ingress"):
            if ingress.get("ip") and ingress.get("ipMode") is None:
                ingress["ipMode"] = "VIP"


def _label_by_name(namespace: Plain) -> None:
    meta = metadata(namespace)
    name = text(meta, "name")
    if name:
        if meta.get("labels") is None:
            meta["labels"] = {}
        meta["labels"]["kubernetes.io/metadata.name"] = name


def _copy_template_labels(controller: Plain) -> None:
    labels = part(part(part(part(controller, "spec"), "template"), "metadata"), "labels")
    if not labels:
        return
    if not controller["spec"].get("selector"):
        controller["spec"]["selector"] = dict(labels)
    if not metadata(controller).get("labels"):
        metadata(controller)["labels"] = dict(labels)


def _fill_allocatable(status: Plain) -> None:
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])


def _fill_pod_cidrs(spec: Plain) -> None:
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]


def _fill_limits(limit: Plain) -> None:
    if limit.get("type") != "Container":
        return
    default = {**part(limit, "max"), **part(limit, "default")}
    request = {**part(limit, "min"), **default, **part(limit, "defaultRequest")}
    for name, amounts in (("default", default), ("defaultRequest", request)):
        if amounts:
            limit[name] = amounts


_LIMIT_SIDES: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def _fill_limit(limit: Plain) -> None:
    _fill_limits(limit)
    for side in _LIMIT_SIDES:
        round_up(part(limit, side))


CLAIM: Final = shape(
    always={"spec": CLAIM_SPEC, "status": shape(blank={"phase": "Pending"})},
    inside={"status": shape(inside={"capacity": round_up, "allocatedResources": round_up})},
)
"""A claim of storage, which templates of claims are too."""

FILLS: Final[dict[str, Fill]] = {
    "Pod": fill_pod,
    "PodTemplate": shape(always={"template": TEMPLATE}),
    "ReplicationController": shape(
        always={"spec": shape(unset={"replicas": 1}, inside={"template": TEMPLATE})},
        then=_copy_template_labels,
    ),
    "Service": _fill_service,
    "Endpoints": shape(inside={"subsets": each(shape(inside={"ports": each(shape(blank=_TCP))}))}),
    "Secret": shape(blank={"type": "Opaque"}),
    "Namespace": shape(always={"status": shape(blank={"phase": "Active"})}, then=_label_by_name),
    "Node": shape(
        inside={
            "spec": _fill_pod_cidrs,
            "status": shape(inside={"capacity": round_up, "allocatable": round_up}, then=_fill_allocatable),
        }
    ),
    "PersistentVolume": shape(
        always={
            "spec": shape(
                blank={"persistentVolumeReclaimPolicy": "Retain"},
                unset={"volumeMode": "Filesystem"},
                inside={"capacity": round_up, **STORAGE},
            ),
            "status": shape(blank={"phase": "Pending"}),
        }
    ),
    "PersistentVolumeClaim": CLAIM,
    "LimitRange": shape(inside={"spec": shape(inside={"limits": each(_fill_limit)})}),
    "ResourceQuota": shape(
        inside={
            "spec": shape(inside={"hard": round_up}),
            "status": shape(inside={"hard": round_up, "used": round_up}),
        }
    ),
}
"""By kind."""
