"""Versions of kinds that will go away."""

from __future__ import annotations

from typing import Final

_FATES: Final = {
    "v1 ComponentStatus": "v1.19+",
    "v1 Endpoints": "v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy": "v1.35+, unavailable in v1.38+",
    "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding": "v1.35+, unavailable in v1.38+",
    "certificates.k8s.io/v1alpha1 ClusterTrustBundle": "v1.34+, unavailable in v1.37+",
    "coordination.k8s.io/v1alpha2 LeaseCandidate": "v1.35+, unavailable in v1.38+",
    "coordination.k8s.io/v1beta1 LeaseCandidate": "v1.36+, unavailable in v1.39+",
    "networking.k8s.io/v1beta1 IPAddress": "v1.34+, unavailable in v1.37+",
    "networking.k8s.io/v1beta1 ServiceCIDR": "v1.34+, unavailable in v1.37+",
    "resource.k8s.io/v1alpha3 DeviceTaintRule": "v1.36+, unavailable in v1.39+",
    "resource.k8s.io/v1beta1 DeviceClass": "v1.35+, unavailable in v1.38+",
    "resource.k8s.io/v1beta1 ResourceClaim": "v1.35+, unavailable in v1.38+",
    "resource.k8s.io/v1beta1 ResourceClaimTemplate": "v1.35+, unavailable in v1.38+",
    "resource.k8s.io/v1beta1 ResourceSlice": "v1.35+, unavailable in v1.38+",
    "resource.k8s.io/v1beta2 DeviceClass": "v1.36+, unavailable in v1.39+",
    "resource.k8s.io/v1beta2 ResourceClaim": "v1.36+, unavailable in v1.39+",
    "resource.k8s.io/v1beta2 ResourceClaimTemplate": "v1.36+, unavailable in v1.39+",
    "resource.k8s.io/v1beta2 ResourceSlice": "v1.36+, unavailable in v1.39+",
    "storage.k8s.io/v1beta1 VolumeAttributesClass": (
        "v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass"
    ),
}
"""Since when a version of a kind is deprecated, when it goes, and what takes its place."""


def deprecation(group: str, version: str, kind: str) -> str | None:
    """Say that a version of a kind is deprecated, if it is.

    Every request to its resource and to the resource's subresources is told so, before anything else and also if
    it fails; only a method that the resource does not have (405) is not.

    Args:
        group: The kind's group; empty for the core group.
        version: The version in the request's path.
        kind: The resource's kind.
    """
    name = f"{group}/{version} {kind}" if group else f"{version} {kind}"
    fate = _FATES.get(name)
    return f"{name} is deprecated in {fate}" if fate else None
