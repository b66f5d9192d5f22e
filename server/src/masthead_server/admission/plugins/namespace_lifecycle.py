"""NamespaceLifecycle: new objects need a namespace that exists and is not terminating."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid, name_object

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["NamespaceLifecycle"]

_IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_REVIEWS: Final = "authorization.k8s.io/localsubjectaccessreviews"


class NamespaceLifecycle(AdmissionPlugin):
    """Refuses new objects in a namespace that does not exist or is being deleted, and some deletions of namespaces."""

    name = "NamespaceLifecycle"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates something in a namespace, or deletes a namespace.

        The write pipeline checks the namespace of a new object itself, as the first step of admission: most creates
        then need no other.
        """
        if operation is Operation.DELETE:
            return served.table == "namespaces"
        if served.is_stored and not subresource:
            return False
        # Whether a namespace exists is not to be learned from a review.
        return operation is Operation.CREATE and served.is_namespaced and served.table != _REVIEWS

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Check the namespace."""
        if attributes.operation is Operation.CREATE:
            self.cluster.check_namespace(attributes.served, attributes.namespace, name_object(attributes))
        elif attributes.name in _IMMORTAL:
            raise forbid(attributes, "this namespace may not be deleted")
