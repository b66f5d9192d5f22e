"""TaintNodesByCondition: new nodes get no pods until they are ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.wire.plain import items

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["TaintNodesByCondition"]

_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(AdmissionPlugin):
    """Taints new nodes as not ready."""

    name = "TaintNodesByCondition"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a node."""
        return operation is Operation.CREATE and served.table == "nodes" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the taint, unless the node registers with it."""
        spec = (attributes.object or {}).setdefault("spec", {})
        taints = items(spec, "taints")
        if not any(all(taint.get(key) == value for key, value in _NOT_READY.items()) for taint in taints):
            spec["taints"] = [*taints, dict(_NOT_READY)]
