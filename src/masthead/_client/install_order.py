"""The order in which manifests are applied, so that objects exist before their dependents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["installation_order", "is_definition"]

T = TypeVar("T")

# By kind alone: a kind of the same name in another group gets the same rank, which does no harm.
_BEFORE: Final = (
    # kinds and namespaces of other objects
    ("CustomResourceDefinition",),
    ("Namespace",),
    # policies that must hold from the first object on
    ("PriorityClass", "RuntimeClass", "IngressClass", "GatewayClass", "DeviceClass"),
    ("ResourceQuota", "LimitRange", "NetworkPolicy"),
    ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"),
    # RBAC
    ("ServiceAccount",),
    ("ClusterRole", "Role"),
    ("ClusterRoleBinding", "RoleBinding"),
    # configuration and volumes of pods
    ("Secret", "ConfigMap"),
    ("StorageClass", "CSIDriver", "VolumeAttributesClass"),
    ("PersistentVolume",),
    ("PersistentVolumeClaim", "ResourceClaimTemplate", "ResourceClaim"),
    # pods get environment variables for services that existed before them
    ("Service",),
    ("Endpoints", "EndpointSlice"),
)
_AFTER: Final = (
    ("PodTemplate", "ControllerRevision"),
    ("DaemonSet",),
    ("Pod",),
    ("ReplicationController", "ReplicaSet"),
    ("Deployment", "StatefulSet"),
    ("PodDisruptionBudget", "HorizontalPodAutoscaler"),
    ("Job", "CronJob"),
    ("Ingress",),
    # from here on the server calls pods that may not run yet
    ("APIService",),
    ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"),
    ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)
_UNKNOWN: Final = len(_BEFORE)
_RANKS: Final = {kind: rank for rank, kinds in enumerate(_BEFORE) for kind in kinds} | {
    kind: _UNKNOWN + 1 + rank for rank, kinds in enumerate(_AFTER) for kind in kinds
}


def installation_order(things: Iterable[T], kind: Callable[[T], GroupVersionKind]) -> list[T]:
    """Sort by the rank of the kind; within one rank, the order stays the same.

    Unknown kinds, which are mostly custom ones, come after what workloads need and before the workloads.
    """
    return sorted(things, key=lambda thing: _RANKS.get(kind(thing).kind, _UNKNOWN))


def is_definition(gvk: GroupVersionKind) -> bool:
    """Whether this is the CustomResourceDefinition kind."""
    return (gvk.group, gvk.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")
