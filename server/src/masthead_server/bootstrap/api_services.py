"""APIServices of the group-versions that the server itself serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server import scheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead_server.wire.plain import Plain

__all__ = ["MANAGED_LABEL", "api_service", "builtin_api_services"]

MANAGED_LABEL: Final = "kube-aggregator.kubernetes.io/automanaged"
"""The label of APIServices that the server creates: ``onstart`` for built-in groups, ``true`` for definitions."""
_GROUP_PRIORITIES: Final[Mapping[str, int]] = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "admissionregistration.k8s.io": 16700,
    "apiextensions.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "storagemigration.k8s.io": 15800,
}
_VERSION_PRIORITIES: Final[Mapping[str, int]] = {"v1": 15, "v1beta1": 9, "v1alpha1": 1}
_UNUSUAL_PRIORITIES: Final[Mapping[tuple[str, str], int]] = {
    ("", "v1"): 1,
    ("autoscaling", "v2"): 30,
    ("scheduling.k8s.io", "v1alpha2"): 2,
    ("admissionregistration.k8s.io", "v1beta1"): 12,
    ("admissionregistration.k8s.io", "v1alpha1"): 9,
    ("coordination.k8s.io", "v1beta1"): 13,
    ("coordination.k8s.io", "v1alpha2"): 12,
    ("resource.k8s.io", "v1"): 21,
    ("resource.k8s.io", "v1beta2"): 15,
    ("resource.k8s.io", "v1alpha3"): 1,
    ("flowcontrol.apiserver.k8s.io", "v1"): 21,
    ("internal.apiserver.k8s.io", "v1alpha1"): 9,
}


def builtin_api_services(now: str) -> Iterator[Plain]:
    """Yield the APIServices of built-in groups, but for that of APIServices themselves.

    Args:
        now: The time since when they are available.
    """
    for group, versions in scheme.VERSIONS.items():
        if group not in _GROUP_PRIORITIES:
            continue
        for version in versions:
            priority = _UNUSUAL_PRIORITIES.get((group, version)) or _VERSION_PRIORITIES[version]
            spec = {"groupPriorityMinimum": _GROUP_PRIORITIES[group], "versionPriority": priority}
            yield {**api_service(group, version, spec, "onstart"), "status": _available(now)}


def api_service(group: str, version: str, priorities: Plain, managed: str) -> Plain:
    """Return the APIService of a group-version, without a status.

    Args:
        group: The group; empty for the core group.
        version: The version.
        priorities: The priorities of its spec.
        managed: The value of its label.
    """
    spec = {**({"group": group} if group else {}), "version": version, **priorities}
    return {"metadata": {"name": f"{version}.{group}", "labels": {MANAGED_LABEL: managed}}, "spec": spec}


def _available(now: str) -> Plain:
    condition = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {"conditions": [condition]}
