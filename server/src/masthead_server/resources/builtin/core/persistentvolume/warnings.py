"""Warnings about PersistentVolumes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.builtin.core.persistentvolumeclaim.warnings import (
    CLASS_ANNOTATION,
    CLASS_FIELD_WARNING,
    annotation_warnings,
)
from masthead_server.resources.warnings.node_labels import expression_warnings
from masthead_server.resources.warnings.volumes import REMOVED
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_VOLUME_ANNOTATIONS: Final = {
    CLASS_ANNOTATION: CLASS_FIELD_WARNING,
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_VOLUME_SOURCES: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
"""The sources that a volume is warned of: not all that a pod is warned of."""
_RECYCLED: Final = (
    "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
)


def volume_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a PersistentVolume."""
    spec = part(obj, "spec")
    found = annotation_warnings(obj, _VOLUME_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLED}")
    required = part(part(spec, "nodeAffinity"), "required")
    for index, term in enumerate(items(required, "nodeSelectorTerms")):
        found += expression_warnings(f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    return found + [f"spec.{REMOVED[name]}" for name in _VOLUME_SOURCES if name in spec]
