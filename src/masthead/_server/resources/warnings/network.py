"""What is questionable about Services, their endpoints, and what else has addresses in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.warnings.addresses import address_warnings, network_warnings
from masthead._server.resources.behavior import WarningHooks, always
from masthead._server.wire.failures import quoted
from masthead._server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_MANAGED: Final = ("endpoints.kubernetes.io/managed-by", "endpoint-controller")
"""The label of Endpoints that are known to be written well."""


def _service(obj: Plain) -> list[str]:
    spec = part(obj, "spec")
    found: list[str] = []
    if _HINTS in part(part(obj, "metadata"), "annotations"):
        found.append(
            f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        )
    is_headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    if is_headless:
        found += _ignored_without_address(spec)
    if external := spec.get("externalIPs"):
        for index, value in enumerate(external):
            found += address_warnings(f"spec.externalIPs[{index}]", value)
        if not is_headless and spec.get("type") != "ExternalName":
            found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    found += address_warnings("spec.loadBalancerIP", text(spec, "loadBalancerIP"))
    for index, value in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += network_warnings(f"spec.loadBalancerSourceRanges[{index}]", value)
    return found + _ignored_for_its_type(spec) + _distribution(spec)


def _ignored_without_address(spec: Plain) -> list[str]:
    found: list[str] = []
    if spec.get("loadBalancerIP"):
        found.append("spec.loadBalancerIP is ignored for headless services")
    if spec.get("externalIPs"):
        found.append("spec.externalIPs is ignored for headless services")
    if spec.get("sessionAffinity") != "None":
        found.append("spec.SessionAffinity is ignored for headless services")
    return found


def _ignored_for_its_type(spec: Plain) -> list[str]:
    is_external = spec.get("type") == "ExternalName"
    if is_external and spec.get("externalIPs"):
        return ['spec.externalIPs is ignored when spec.type is "ExternalName"']
    if not is_external and spec.get("externalName"):
        return ['spec.externalName is ignored when spec.type is not "ExternalName"']
    return []


def _distribution(spec: Plain) -> list[str]:
    if spec.get("trafficDistribution") != "PreferClose":
        return []
    return ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"']


def _pod_status(new: Plain, _: Plain) -> list[str]:
    found: list[str] = []
    for name in ("podIPs", "hostIPs"):
        for index, each in enumerate(items(part(new, "status"), name)):
            found += address_warnings(f"status.{name}[{index}].ip", text(each, "ip"))
    return found


def _balancer_status(new: Plain, _: Plain) -> list[str]:
    balancer = part(part(new, "status"), "loadBalancer")
    found: list[str] = []
    for index, each in enumerate(items(balancer, "ingress")):
        found += address_warnings(f"status.loadBalancer.ingress[{index}]", text(each, "ip"))
    return found


def _endpoints(obj: Plain) -> list[str]:
    label, controller = _MANAGED
    if part(part(obj, "metadata"), "labels").get(label) == controller:
        return []
    found: list[str] = []
    for index, subset in enumerate(items(obj, "subsets")):
        for name in ("addresses", "notReadyAddresses"):
            for number, each in enumerate(items(subset, name)):
                found += address_warnings(f"subsets[{index}].{name}[{number}].ip", text(each, "ip"))
    return found


def _endpoint_slice(obj: Plain) -> list[str]:
    # The path is none that an EndpointSlice has; it is the server's.
    is_named = obj.get("addressType") == "FQDN"
    return ["spec.addressType: FQDN endpoints are deprecated"] if is_named else []


def _ingress(obj: Plain) -> list[str]:
    annotations = part(part(obj, "metadata"), "annotations")
    if _INGRESS_CLASS not in annotations or part(obj, "spec").get("ingressClassName") is not None:
        return []
    return [f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]


def _policy(obj: Plain) -> list[str]:
    found: list[str] = []
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(items(part(obj, "spec"), direction)):
            for number, peer in enumerate(items(rule, peers)):
                at = f"spec.{direction}[{index}].{peers}[{number}].ipBlock"
                found += _block(at, part(peer, "ipBlock"))
    return found


def _block(path: str, block: Plain) -> list[str]:
    found = network_warnings(f"{path}.cidr", text(block, "cidr"))
    for index, value in enumerate(block.get("except") or ()):
        found += network_warnings(f"{path}.except[{index}]", value)
    return found


WARNINGS: Final = {
    "services": always(_service),
    "services/status": WarningHooks(on_update=_balancer_status),
    "pods/status": WarningHooks(on_update=_pod_status),
    "endpoints": always(_endpoints),
    "endpointslices": WarningHooks(_endpoint_slice),
    "ingresses": WarningHooks(_ingress),
    "ingresses/status": WarningHooks(on_update=_balancer_status),
    "networkpolicies": always(_policy),
}
"""What is said of each kind, by its resource."""
