"""The volume protection controller: claims, volumes and attributes classes stay until nothing uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef, is_marked, uid_of
from masthead_server.wire.plain import Plain, is_being_deleted, items, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.controllers.objects import ObjectClient

__all__ = ["NAMES_CLAIMS", "VolumeProtectionController", "claims_of", "ephemeral_claim"]

_PODS: Final = "pods"
_CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "persistentvolumes"
_CLASSES: Final = "storage.k8s.io/volumeattributesclasses"
_FINALIZERS: Final = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
    _CLASSES: "kubernetes.io/vac-protection",
}
"""The finalizers that the controller removes from unused objects."""
NAMES_CLAIMS: Final = (b'"persistentVolumeClaim"', b'"ephemeral"')
"""JSON text of pods with claims; an ephemeral volume has a claim, too."""


class VolumeProtectionController:
    """Removes the protection finalizers of unused claims, unbound volumes, and unused attributes classes."""

    observes = frozenset({_PODS, *_FINALIZERS})

    def __init__(self, client: ObjectClient) -> None:
        self._client = client
        # Classes in deletion: any written claim or volume may have been the last user of one.
        self._deleted_classes: set[ObjectRef] = set()

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile objects in deletion, and the claims of each written or deleted pod."""
        served, ref, record = write
        if ref.table != _PODS:
            # The finalizer of a live claim or volume stays: only objects in deletion need a reconcile.
            is_waiting = not record.is_deleted and is_marked(record)
            if ref.table == _CLASSES:
                (self._deleted_classes.add if is_waiting else self._deleted_classes.discard)(ref)
                return (ref,) if is_waiting else ()
            return (*self._deleted_classes, ref) if is_waiting else tuple(self._deleted_classes)
        # Search the JSON text first: most pods have no claims, and decoding is expensive.
        if not any(names_claim in record.value for names_claim in NAMES_CLAIMS):
            return ()
        claims = claims_of(served.load(record))
        return [ObjectRef(_CLAIMS, f"{ref.namespace}/{name}") for name in sorted(claims)]

    async def reconcile(self, ref: ObjectRef) -> None:
        """Remove the finalizer of an object in deletion, if nothing uses the object.

        Raises:
            JournalError: The change could not be stored.
        """
        found = self._client.load(ref)
        if found is None or not is_being_deleted(found):
            return
        finalizer = _FINALIZERS[ref.table]
        if finalizer in (metadata(found).get("finalizers") or ()) and not self._is_used(ref, found):
            await self._client.remove_finalizer(ref, finalizer)

    def _is_used(self, ref: ObjectRef, found: Plain) -> bool:
        if ref.table == _VOLUMES:
            return text(part(found, "status"), "phase") == "Bound"
        if ref.table == _CLASSES:
            return self._is_class_named(text(metadata(found), "name"))
        pods = (self._client.load(pod_ref) for pod_ref in self._client.within(ref.namespace, only=_PODS))
        return any(pod is not None and _uses(pod, found) for pod in pods)

    def _is_class_named(self, name: str) -> bool:
        """Tell whether a claim or volume has, had or wants an attributes class."""
        return any(
            name in _classes_of(found)
            for table in (_VOLUMES, _CLAIMS)
            for _, found in self._client.listed(table, containing=[b"AttributesClassName"])
        )


def _classes_of(found: Plain) -> set[str]:
    spec, status = part(found, "spec"), part(found, "status")
    return {
        text(spec, "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(part(status, "modifyVolumeStatus"), "targetVolumeAttributesClassName"),
    }


def claims_of(pod: Plain) -> set[str]:
    """Return the claims of a pod's volumes, ephemeral volumes included."""
    return _named_by(pod) | _made_for(pod)


def _named_by(pod: Plain) -> set[str]:
    volumes = items(part(pod, "spec"), "volumes")
    return {text(part(volume, "persistentVolumeClaim"), "claimName") for volume in volumes} - {""}


def _made_for(pod: Plain) -> set[str]:
    volumes = items(part(pod, "spec"), "volumes")
    return {ephemeral_claim(pod, volume) for volume in volumes if "ephemeral" in volume}


def ephemeral_claim(pod: Plain, volume: Plain) -> str:
    """Return the name of the claim of an ephemeral volume."""
    return f"{text(metadata(pod), 'name')}-{text(volume, 'name')}"


def _uses(pod: Plain, claim: Plain) -> bool:
    """Whether a pod keeps a claim from being deleted.

    An unbound pod does not, since it will not start any more. Nor does the owner of an ephemeral volume's claim, once
    only finalizers keep that pod.
    """
    if not part(pod, "spec").get("nodeName"):
        return False
    name = text(metadata(claim), "name")
    if name in _named_by(pod):
        return True
    is_shut_down = is_being_deleted(pod) and metadata(pod).get("deletionGracePeriodSeconds") == 0
    return name in _made_for(pod) and not is_shut_down and _is_controlled_by(claim, uid_of(pod))


def _is_controlled_by(found: Plain, uid: str) -> bool:
    owners = items(metadata(found), "ownerReferences")
    return any(owner.get("controller") is True and owner.get("uid") == uid for owner in owners)
