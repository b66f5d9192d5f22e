"""DefaultStorageClass: claims that name no class get the default one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.default_classes import find_default_class
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["DefaultStorageClass"]

_CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
_MARKS: Final = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class DefaultStorageClass(AdmissionPlugin):
    """Sets the class of new claims."""

    name = "DefaultStorageClass"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a claim."""
        return operation is Operation.CREATE and served.table == "persistentvolumeclaims" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the default class; an empty class is a choice, too: no dynamic provisioning."""
        claim = attributes.object or {}
        spec = claim.setdefault("spec", {})
        annotations = part(part(claim, "metadata"), "annotations")
        if spec.get("storageClassName") is not None or _CLASS_ANNOTATION in annotations:
            return
        if name := find_default_class(self.cluster, "storage.k8s.io", "v1", "storageclasses", _MARKS):
            spec["storageClassName"] = name
