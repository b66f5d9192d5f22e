"""PersistentVolumeClaimResize: claims grow only if they are bound and their class allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.resources.validation.checks import amount
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead._meta.quantity import Quantity
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["PersistentVolumeClaimResize"]

_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"


class PersistentVolumeClaimResize(AdmissionPlugin):
    """Refuses larger requests of claims that cannot grow."""

    name = "PersistentVolumeClaimResize"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation updates a claim."""
        return operation is Operation.UPDATE and served.table == "persistentvolumeclaims" and not subresource

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check a larger request."""
        new, old = attributes.object or {}, attributes.old or {}
        if _requested(new) <= _requested(old):
            return
        if part(old, "status").get("phase") != "Bound":
            raise forbid(attributes, "Only bound persistent volume claims can be expanded")
        name = _class_of(new)
        found = None
        if name and name == _class_of(old):
            found = find_object(self.cluster, "storage.k8s.io", "v1", "storageclasses", name)
        if not (found or {}).get("allowVolumeExpansion"):
            why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
            raise forbid(attributes, f"{why} support resize")


def _requested(claim: Plain) -> Quantity:
    return amount(part(part(part(claim, "spec"), "resources"), "requests").get("storage"))


def _class_of(claim: Plain) -> str:
    annotations = part(part(claim, "metadata"), "annotations")
    # The older annotation wins.
    return (
        text(annotations, _CLASS_ANNOTATION)
        if _CLASS_ANNOTATION in annotations
        else text(part(claim, "spec"), "storageClassName")
    )
