"""DefaultIngressClass: ingresses that name no class get the default one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.default_classes import find_default_class
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["DefaultIngressClass"]

_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_MARKS: Final = ("ingressclass.kubernetes.io/is-default-class",)


class DefaultIngressClass(AdmissionPlugin):
    """Sets the class of new ingresses."""

    name = "DefaultIngressClass"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates an ingress."""
        return operation is Operation.CREATE and served.table == "networking.k8s.io/ingresses" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the default class; the older annotation is a choice, too, even if no class has its name."""
        ingress = attributes.object or {}
        spec = ingress.setdefault("spec", {})
        annotations = part(part(ingress, "metadata"), "annotations")
        if spec.get("ingressClassName") is not None or _CLASS_ANNOTATION in annotations:
            return
        if name := find_default_class(self.cluster, "networking.k8s.io", "v1", "ingressclasses", _MARKS):
            spec["ingressClassName"] = name
