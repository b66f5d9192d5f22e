"""NamespaceLifecycle: new objects need a namespace that exists and is not terminating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["NamespaceLifecycle"]


class NamespaceLifecycle(AdmissionPlugin):
    """Refuses new objects in a namespace that does not exist, or that is being deleted."""

    name = "NamespaceLifecycle"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates an object in a namespace."""
        return operation is Operation.CREATE and served.is_namespaced and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Check the namespace."""
        self.cluster.check_namespace(attributes.served, attributes.namespace, attributes.name)
