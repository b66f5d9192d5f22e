"""StorageObjectInUseProtection: finalizers keep volumes, claims and their classes while they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.resources.validation.checks import words
from masthead_server.wire.plain import metadata

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["StorageObjectInUseProtection"]

_FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "storage.k8s.io/volumeattributesclasses": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(AdmissionPlugin):
    """Adds the finalizers to new objects; a controller removes them."""

    name = "StorageObjectInUseProtection"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates such an object."""
        return operation is Operation.CREATE and served.table in _FINALIZERS and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the finalizer."""
        meta, finalizer = metadata(attributes.object or {}), _FINALIZERS[attributes.served.table]
        held = words(meta, "finalizers")
        if finalizer not in held:
            meta["finalizers"] = [*held, finalizer]
