"""What is questionable about volumes, claims, and what makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.behavior import WarningHooks, always
from masthead._server.resources.warnings.node_labels import DEPRECATED, expression_warnings
from masthead._server.resources.warnings.quantities import claim_warnings
from masthead._server.resources.warnings.volumes import REMOVED
from masthead._server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_CLASS_FIELD: Final = 'deprecated since v1.8; use "storageClassName" attribute instead'
_VOLUME_ANNOTATIONS: Final = {
    _CLASS: _CLASS_FIELD,
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_VOLUME_SOURCES: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
"""The sources that a volume is warned of: not all that a pod is warned of."""
_RECYCLED: Final = (
    "The Recycle reclaim policy is deprecated."
    " Instead, the recommended approach is to use dynamic provisioning."
)
_TOKENS_IN_SECRETS: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible"
    " logging of tokens in volume attributes"
)


def _annotations(obj: Plain, known: dict[str, str]) -> list[str]:
    given = part(part(obj, "metadata"), "annotations")
    return [f"metadata.annotations[{key}]: {said}" for key, said in known.items() if key in given]


def _claim(obj: Plain) -> list[str]:
    return _annotations(obj, {_CLASS: _CLASS_FIELD}) + claim_warnings("spec", part(obj, "spec"))


def _volume(obj: Plain) -> list[str]:
    spec = part(obj, "spec")
    found = _annotations(obj, _VOLUME_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLED}")
    required = part(part(spec, "nodeAffinity"), "required")
    for index, term in enumerate(items(required, "nodeSelectorTerms")):
        found += expression_warnings(f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]", term)
    return found + [f"spec.{REMOVED[name]}" for name in _VOLUME_SOURCES if name in spec]


def _storage_class(obj: Plain) -> list[str]:
    return [
        f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {DEPRECATED[each['key']]}"
        for index, topology in enumerate(items(obj, "allowedTopologies"))
        for number, each in enumerate(items(topology, "matchLabelExpressions"))
        if each.get("key") in DEPRECATED
    ]


def _capacity(obj: Plain) -> list[str]:
    topology = part(obj, "nodeTopology")
    found = expression_warnings("nodeTopology", topology)
    for key in part(topology, "matchLabels"):
        if key in DEPRECATED:
            found.append(f"nodeTopology.matchLabels.{key}: {DEPRECATED[key]}")
    return found


def _driver(obj: Plain) -> list[str]:
    spec = part(obj, "spec")
    is_unsaid = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
    return [_TOKENS_IN_SECRETS] if is_unsaid else []


def _driver_change(new: Plain, old: Plain) -> list[str]:
    is_same = part(new, "spec").get("tokenRequests") == part(old, "spec").get("tokenRequests")
    return [] if is_same else _driver(new)


WARNINGS: Final = {
    "persistentvolumeclaims": always(_claim),
    "persistentvolumes": always(_volume),
    "storageclasses": always(_storage_class),
    "csistoragecapacities": always(_capacity),
    "csidrivers": WarningHooks(_driver, _driver_change),
}
"""What is said of each kind, by its resource."""
