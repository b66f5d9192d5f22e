"""The resource claims in a pod's spec and status, and whether the pod still needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import uid_of
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CLAIM_ANNOTATION",
    "claim_base_name",
    "claim_names",
    "is_done",
    "is_reserved_for",
    "owning_pod",
    "recorded_names",
    "template_names",
]

CLAIM_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
"""The name of the claim within its pod."""
_FINISHED: Final = frozenset({"Succeeded", "Failed"})
_MAX_BASE_LENGTH: Final = 57
"""63 characters, less a dash and the random suffix."""


def recorded_names(pod: Plain) -> dict[str, str]:
    """Return the claims created for a pod, by the entry of the spec; an empty name stands for no claim."""
    statuses = items(part(pod, "status"), "resourceClaimStatuses")
    return {text(status, "name"): text(status, "resourceClaimName") for status in statuses}


def claim_names(pod: Plain) -> set[str]:
    """Return the names of a pod's claims, without those yet to be created."""
    recorded = recorded_names(pod)
    extended = part(part(pod, "status"), "extendedResourceClaimStatus")
    named = (text(entry, "resourceClaimName") or recorded.get(text(entry, "name"), "") for entry in _entries(pod))
    return {*named, text(extended, "resourceClaimName")} - {""}


def template_names(pod: Plain) -> set[str]:
    """Return the names of a pod's claim templates."""
    return {text(entry, "resourceClaimTemplateName") for entry in _entries(pod)} - {""}


def _entries(pod: Plain) -> Iterator[Plain]:
    yield from items(part(pod, "spec"), "resourceClaims")


def is_done(pod: Plain) -> bool:
    """Tell whether a pod has ended or will never start."""
    if part(pod, "status").get("phase") in _FINISHED:
        return True
    return is_being_deleted(pod) and not part(pod, "spec").get("nodeName")


def is_reserved_for(claim: Plain, pod: Plain) -> bool:
    """Tell whether a claim is reserved for a pod."""
    return any(entry.get("uid") == uid_of(pod) for entry in items(part(claim, "status"), "reservedFor"))


def owning_pod(claim: Plain) -> tuple[str, str]:
    """Return name and uid of the pod that a claim was created for; empty for other claims."""
    for owner in items(metadata(claim), "ownerReferences"):
        if owner.get("controller") and (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Pod"):
            return text(owner, "name"), text(owner, "uid")
    return "", ""


def claim_base_name(pod: str, name: str) -> str:
    """Return the ``generateName`` of a claim; long names of pod and entry are shortened in proportion."""
    base = f"{pod}-{name}-"
    if len(base) <= _MAX_BASE_LENGTH:
        return base
    whole = f"{pod[: len(pod) * _MAX_BASE_LENGTH // len(base)]}-"
    # As in kube-controller-manager, the second share is relative to the whole length as well.
    return f"{whole}{name[: len(name) * _MAX_BASE_LENGTH // len(base)]}"
