"""The simulated provisioner of every StorageClass: builds the PersistentVolume for a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import uid_of
from masthead_server.controllers.storage.volume_topology import make_node_affinity
from masthead_server.wire.plain import Plain, metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LOCAL_PATH", "NO_PROVISIONER", "PROVISIONED_BY", "make_volume", "reference_to_claim"]

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
LOCAL_PATH: Final = "rancher.io/local-path"
"""The provisioner whose volumes are directories of one node."""


def reference_to_claim(claim: Plain) -> Plain:
    """Return the ``claimRef`` of a volume."""
    meta = metadata(claim)
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": text(meta, "namespace"),
        "name": text(meta, "name"),
        "uid": uid_of(claim),
        "apiVersion": "v1",
        "resourceVersion": text(meta, "resourceVersion"),
    }


def make_volume(claim: Plain, storage_class: Plain, topology: Mapping[str, str]) -> Plain:
    """Build the PersistentVolume for a claim.

    Args:
        claim: The claim.
        storage_class: Its StorageClass.
        topology: The labels of the nodes that reach it; empty for all nodes.
    """
    provisioner, wanted = text(storage_class, "provisioner"), part(claim, "spec")
    name = f"pvc-{uid_of(claim)}"
    spec: Plain = {
        "accessModes": list(wanted.get("accessModes") or ()),
        "capacity": {"storage": part(part(wanted, "resources"), "requests").get("storage", "0")},
        "claimRef": reference_to_claim(claim),
        "persistentVolumeReclaimPolicy": text(storage_class, "reclaimPolicy") or "Delete",
        "storageClassName": text(metadata(storage_class), "name"),
        "volumeMode": text(wanted, "volumeMode") or "Filesystem",
        **_make_source(provisioner, name, claim),
    }
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = list(storage_class["mountOptions"])
    if text(wanted, "volumeAttributesClassName"):
        spec["volumeAttributesClassName"] = wanted["volumeAttributesClassName"]
    if topology:
        spec["nodeAffinity"] = make_node_affinity(topology)
    return {"metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}}, "spec": spec}


def _make_source(provisioner: str, name: str, claim: Plain) -> Plain:
    # CSI drivers are named by a domain; in-tree and older external provisioners have a slash in their names.
    if "/" not in provisioner:
        return {"csi": {"driver": provisioner, "volumeHandle": name}}
    meta = metadata(claim)
    folder = "local-path-provisioner" if provisioner == LOCAL_PATH else "provisioned"
    path = f"/var/{folder}/{name}_{text(meta, 'namespace')}_{text(meta, 'name')}"
    return {"hostPath": {"path": path, "type": "DirectoryOrCreate"}}
