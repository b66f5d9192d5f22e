"""Storage: volumes, claims, classes and drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, flag, has, labels, part, text, texts
from masthead._printers.formats import quantity
from masthead._printers.printer import AGE, CREATED_AT, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_ACCESS_MODES: Final[Mapping[str, str]] = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _access_modes(owner: Plain) -> str:
    modes = texts(owner, "accessModes")
    # In a fixed order, whatever the order in the object is.
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _phase(obj: Plain) -> str:
    if has(part(obj, "metadata"), "deletionTimestamp"):
        return "Terminating"
    return text(part(obj, "status"), "phase")


def _class(obj: Plain) -> str:
    annotations = labels(part(obj, "metadata"), "annotations")
    # The old annotation still overrides the field.
    return annotations.get(_BETA_CLASS, text(part(obj, "spec"), "storageClassName"))


def _or_unset(owner: Plain, name: str) -> str:
    found = owner.get(name)
    return found if isinstance(found, str) else "<unset>"


def _persistent_volume(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    claim = part(spec, "claimRef")
    return [
        name_of(obj),
        quantity(part(spec, "capacity").get("storage")),
        _access_modes(spec),
        text(spec, "persistentVolumeReclaimPolicy"),
        _phase(obj),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if has(spec, "claimRef") else "",
        _class(obj),
        _or_unset(spec, "volumeAttributesClassName"),
        text(part(obj, "status"), "reason"),
        age_of(obj, now),
        _or_unset(spec, "volumeMode"),
    ]


def _persistent_volume_claim(obj: Plain, now: datetime) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    volume = text(spec, "volumeName")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        # An unbound claim has no capacity yet.
        quantity(part(status, "capacity").get("storage")) if volume else "",
        _access_modes(status) if volume else "",
        _class(obj),
        _or_unset(spec, "volumeAttributesClassName"),
        age_of(obj, now),
        _or_unset(spec, "volumeMode"),
    ]


def _storage_class(obj: Plain, now: datetime) -> list[Cell]:
    annotations = part(obj, "metadata", "annotations")
    is_default = any(annotations.get(name) == "true" for name in _DEFAULT_CLASS)
    return [
        f"{name_of(obj)} (default)" if is_default else name_of(obj),
        text(obj, "provisioner"),
        text(obj, "reclaimPolicy") if has(obj, "reclaimPolicy") else "Delete",
        text(obj, "volumeBindingMode") if has(obj, "volumeBindingMode") else "Immediate",
        flag(obj, "allowVolumeExpansion"),
        age_of(obj, now),
    ]


def _volume_attributes_class(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), text(obj, "driverName"), age_of(obj, now)]


def _volume_attachment(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        text(spec, "attacher"),
        text(part(spec, "source"), "persistentVolumeName"),
        text(spec, "nodeName"),
        flag(part(obj, "status"), "attached"),
        age_of(obj, now),
    ]


def _csi_driver(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    audiences = [text(entry, "audience") for entry in entries(spec, "tokenRequests")]
    return [
        name_of(obj),
        spec.get("attachRequired") is not False,
        flag(spec, "podInfoOnMount"),
        flag(spec, "storageCapacity"),
        ",".join(audiences) if spec.get("tokenRequests") else "<unset>",
        flag(spec, "requiresRepublish"),
        ",".join(texts(spec, "volumeLifecycleModes")) or "<none>",
        age_of(obj, now),
    ]


def _csi_node(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), len(entries(part(obj, "spec"), "drivers")), age_of(obj, now)]


PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "PersistentVolume"): Printer(
        (
            NAME,
            Column("Capacity"),
            Column("Access Modes"),
            Column("Reclaim Policy"),
            Column("Status"),
            Column("Claim"),
            Column("StorageClass"),
            Column("VolumeAttributesClass"),
            Column("Reason"),
            AGE,
            wide("VolumeMode"),
        ),
        _persistent_volume,
    ),
    ("", "PersistentVolumeClaim"): Printer(
        (
            NAME,
            Column("Status"),
            Column("Volume"),
            Column("Capacity"),
            Column("Access Modes"),
            Column("StorageClass"),
            Column("VolumeAttributesClass"),
            AGE,
            wide("VolumeMode"),
        ),
        _persistent_volume_claim,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        (
            NAME,
            Column("Provisioner"),
            Column("ReclaimPolicy"),
            Column("VolumeBindingMode"),
            Column("AllowVolumeExpansion"),
            AGE,
        ),
        _storage_class,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Printer((NAME, Column("DriverName"), AGE), _volume_attributes_class),
    ("storage.k8s.io", "VolumeAttachment"): Printer(
        (
            NAME,
            Column("Attacher", format="name"),
            Column("PV"),
            Column("Node"),
            Column("Attached", "boolean"),
            AGE,
        ),
        _volume_attachment,
    ),
    ("storage.k8s.io", "CSIDriver"): Printer(
        (
            NAME,
            Column("AttachRequired", "boolean"),
            Column("PodInfoOnMount", "boolean"),
            Column("StorageCapacity", "boolean"),
            Column("TokenRequests"),
            Column("RequiresRepublish", "boolean"),
            Column("Modes"),
            AGE,
        ),
        _csi_driver,
    ),
    ("storage.k8s.io", "CSINode"): Printer((NAME, Column("Drivers", "integer"), AGE), _csi_node),
    ("storage.k8s.io", "CSIStorageCapacity"): CREATED_AT,
}
"""The printers, by group and kind."""
