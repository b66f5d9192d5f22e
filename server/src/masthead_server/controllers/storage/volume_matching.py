"""The choice of a volume for a claim: by class, volume mode, access modes, labels, size and node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.labels import from_label_selector
from masthead._meta.quantity import Quantity
from masthead._meta.v1 import LabelSelector
from masthead_server.controllers.objects import uid_of
from masthead_server.controllers.workloads.node_eligibility import NodeFacts, matches_terms
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["capacity_of", "choose_volume", "is_claimed_by", "request_of"]

_FILESYSTEM: Final = "Filesystem"


def capacity_of(volume: Plain) -> Quantity:
    """Return the capacity of a volume."""
    return Quantity(part(part(volume, "spec"), "capacity").get("storage", "0"))


def request_of(claim: Plain) -> Quantity:
    """Return the storage request of a claim."""
    return Quantity(part(part(part(claim, "spec"), "resources"), "requests").get("storage", "0"))


def is_claimed_by(volume: Plain, claim: Plain) -> bool:
    """Tell whether the ``claimRef`` of a volume names a claim; one without a uid matches by name alone."""
    reference, meta = part(part(volume, "spec"), "claimRef"), metadata(claim)
    is_named = (text(reference, "namespace"), text(reference, "name")) == (text(meta, "namespace"), text(meta, "name"))
    return is_named and text(reference, "uid") in {"", uid_of(claim)}


def choose_volume(claim: Plain, volumes: Iterable[Plain], node: NodeFacts | None, *, is_delayed: bool) -> Plain | None:
    """Choose the volume that is pre-bound to the claim, or else the smallest match.

    Args:
        claim: The claim.
        volumes: All volumes.
        node: The node that has to reach the volume; None for any.
        is_delayed: Whether the claim waits for its first pod. Then only a pre-bound volume matches.
    """
    fitting = [volume for volume in volumes if _fits(claim, volume)]
    for volume in fitting:
        if part(part(volume, "spec"), "claimRef"):
            return volume
    if is_delayed:
        return None
    free = [volume for volume in fitting if _is_free(claim, volume) and _is_reachable(volume, node)]
    return min(free, key=lambda volume: (capacity_of(volume), text(metadata(volume), "name")), default=None)


def _fits(claim: Plain, volume: Plain) -> bool:
    wanted, offered = part(claim, "spec"), part(volume, "spec")
    if is_being_deleted(volume) or (offered.get("claimRef") and not is_claimed_by(volume, claim)):
        return False
    return (
        capacity_of(volume) >= request_of(claim)
        and (text(wanted, "volumeMode") or _FILESYSTEM) == (text(offered, "volumeMode") or _FILESYSTEM)
        and text(wanted, "volumeAttributesClassName") == text(offered, "volumeAttributesClassName")
    )


def _is_free(claim: Plain, volume: Plain) -> bool:
    wanted, offered = part(claim, "spec"), part(volume, "spec")
    if text(part(volume, "status"), "phase") != "Available":
        return False
    if text(wanted, "storageClassName") != text(offered, "storageClassName"):
        return False
    if not set(wanted.get("accessModes") or ()) <= set(offered.get("accessModes") or ()):
        return False
    selector = wanted.get("selector")
    labels: dict[str, str] = part(metadata(volume), "labels")
    return selector is None or from_label_selector(LabelSelector.from_dict(selector)).matches(labels)


def _is_reachable(volume: Plain, node: NodeFacts | None) -> bool:
    required = part(part(part(volume, "spec"), "nodeAffinity"), "required")
    return node is None or not required or matches_terms(node, items(required, "nodeSelectorTerms"))
