"""In which order objects of many kinds are installed, so that what others need is there before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead._meta.gvk import GroupVersionKind

__all__ = ["installation_order", "is_definition"]

T = TypeVar("T")

# A kind of another group that has one of these names goes where its namesake goes, which does no harm.
_BEFORE: Final = (
    # what others are made of, or live in
    ("CustomResourceDefinition",),
    ("Namespace",),
    # rules that are to hold from the first object on
    ("PriorityClass", "RuntimeClass", "IngressClass", "GatewayClass", "DeviceClass"),
    ("ResourceQuota", "LimitRange", "NetworkPolicy"),
    ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"),
    # who may do what
    ("ServiceAccount",),
    ("ClusterRole", "Role"),
    ("ClusterRoleBinding", "RoleBinding"),
    # what pods mount and read
    ("Secret", "ConfigMap"),
    ("StorageClass", "CSIDriver", "VolumeAttributesClass"),
    ("PersistentVolume",),
    ("PersistentVolumeClaim", "ResourceClaimTemplate", "ResourceClaim"),
    # pods are told of the services that were there before them
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
    # from here on the server asks pods that may not run yet
    ("APIService",),
    ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"),
    ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)
_UNKNOWN: Final = len(_BEFORE)
_RANKS: Final = {kind: rank for rank, kinds in enumerate(_BEFORE) for kind in kinds} | {
    kind: _UNKNOWN + 1 + rank for rank, kinds in enumerate(_AFTER) for kind in kinds
}


def installation_order(things: Iterable[T], kind: Callable[[T], GroupVersionKind]) -> list[T]:
    """Sort by kind; what is of one rank stays in its order.

    Kinds that are not known, which are mostly custom ones, go behind what workloads need and before the workloads.
    """
    return sorted(things, key=lambda thing: _RANKS.get(kind(thing).kind, _UNKNOWN))


def is_definition(gvk: GroupVersionKind) -> bool:
    """Whether objects of this kind define kinds."""
    return (gvk.group, gvk.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")
