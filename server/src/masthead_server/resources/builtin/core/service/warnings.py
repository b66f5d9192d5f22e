"""Warnings about Services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.warnings.addresses import address_warnings, network_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"


def service_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a Service."""
    spec = part(obj, "spec")
    found: list[str] = []
    if _HINTS in part(part(obj, "metadata"), "annotations"):
        found.append(f"annotation {_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead")
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
