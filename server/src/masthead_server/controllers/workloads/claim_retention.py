"""The owners of a StatefulSet's claims, by its retention policy: whether claims outlive pods and set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef, set_or_drop
from masthead_server.wire.plain import Plain, items, metadata, part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.controllers.objects import ObjectClient

__all__ = ["choose_owners", "claim_refs", "has_stale_claim", "set_owners"]

_CLAIMS: Final = "persistentvolumeclaims"
_DELETE: Final = "Delete"


def choose_owners(
    references: Sequence[Plain], workload: Plain, pod: Plain, policy: Plain, *, is_condemned: bool
) -> list[Plain]:
    """Compute the owner references of a claim; references to other objects remain.

    Args:
        references: Its current references.
        workload: The reference to its StatefulSet.
        pod: The reference to its pod.
        policy: The ``persistentVolumeClaimRetentionPolicy``.
        is_condemned: Whether scaling down removes the pod.
    """
    others = [reference for reference in references if reference.get("uid") not in {workload["uid"], pod["uid"]}]
    # The pod alone: with the set as an owner, the claim would survive scaling down.
    if is_condemned and policy.get("whenScaled") == _DELETE:
        return [*others, pod]
    return [*others, workload] if policy.get("whenDeleted") == _DELETE else others


async def set_owners(
    client: ObjectClient, ref: ObjectRef, workload: Plain, pod: Plain, policy: Plain, *, is_condemned: bool
) -> None:
    """Update the owners of a claim; see `choose_owners`.

    Raises:
        JournalError: The change could not be stored.
    """
    claim = client.load(ref)
    if claim is None:
        return
    before = items(metadata(claim), "ownerReferences")
    after = choose_owners(before, workload, pod, policy, is_condemned=is_condemned)
    if after != before:
        await client.update(ref, lambda found: set_or_drop(metadata(found), "ownerReferences", after))


def has_stale_claim(client: ObjectClient, workload: Plain, pod_name: str, namespace: str) -> bool:
    """Tell whether a deleted pod of the same name still owns a claim, which the garbage collector will delete."""
    policy = part(part(workload, "spec"), "persistentVolumeClaimRetentionPolicy")
    if policy.get("whenScaled") != _DELETE:
        return False
    claims = (client.load(ref) for ref in claim_refs(workload, pod_name, namespace))
    return any(
        (owner.get("kind"), owner.get("name")) == ("Pod", pod_name)
        for claim in claims
        if claim is not None
        for owner in items(metadata(claim), "ownerReferences")
    )


def claim_refs(workload: Plain, pod_name: str, namespace: str) -> list[ObjectRef]:
    """Return the claims of a pod of a StatefulSet."""
    templates = items(part(workload, "spec"), "volumeClaimTemplates")
    return [ObjectRef(_CLAIMS, f"{namespace}/{metadata(template)['name']}-{pod_name}") for template in templates]
