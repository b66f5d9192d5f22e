"""PodTopologyLabels: pods on a node get the labels of its zone and region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["PodTopologyLabels"]

_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(AdmissionPlugin):
    """Copies labels of a node to its new pods, and to the bindings of others."""

    name = "PodTopologyLabels"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a pod or binds one."""
        return operation is Operation.CREATE and served.table == "pods" and subresource in {"", "binding"}

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Copy the labels."""
        found = attributes.object or {}
        name = text(part(found, "target"), "name") if attributes.subresource else text(part(found, "spec"), "nodeName")
        node = find_object(self.cluster, "", "v1", "nodes", name) if name else None
        labels = part(part(node or {}, "metadata"), "labels")
        if copied := {key: labels[key] for key in _LABELS if key in labels}:
            meta = metadata(found)
            meta["labels"] = {**part(meta, "labels"), **copied}
