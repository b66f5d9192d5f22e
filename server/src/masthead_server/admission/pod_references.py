"""References of a pod to other objects of the API, which static pods cannot have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.pod_secrets import list_secret_names
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.wire.plain import Plain

__all__ = ["find_reference"]

_VOLUMES: Final = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_PROJECTIONS: Final = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def find_reference(spec: Plain) -> str:
    """Return the kind of object that a pod refers to, as messages name it; empty for none."""
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(list_secret_names(spec)):
        return "secrets"
    if any(_list_config_maps(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in items(spec, "volumes"):
        if found := _find(volume, _VOLUMES):
            return found
        for source in items(part(volume, "projected"), "sources"):
            if found := _find(source, _PROJECTIONS):
                return found
    return ""


def _find(owner: Plain, kinds: dict[str, str]) -> str:
    return next((kind for field, kind in kinds.items() if owner.get(field) is not None), "")


def _list_config_maps(spec: Plain) -> Iterator[bool]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in items(spec, field):
            yield any(part(item, "valueFrom").get("configMapKeyRef") is not None for item in items(container, "env"))
            yield any(source.get("configMapRef") is not None for source in items(container, "envFrom"))
    for volume in items(spec, "volumes"):
        yield volume.get("configMap") is not None
        yield any(source.get("configMap") is not None for source in items(part(volume, "projected"), "sources"))
