"""LimitPodHardAntiAffinityTopology: required anti-affinity of pods is about hosts only. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["LimitPodHardAntiAffinityTopology"]

_HOST: Final = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology(AdmissionPlugin):
    """Refuses pods that keep others off a whole zone."""

    name = "LimitPodHardAntiAffinityTopology"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == "pods" and not subresource

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the topology keys."""
        affinity = part(part(part(attributes.object or {}, "spec"), "affinity"), "podAntiAffinity")
        for term in items(affinity, "requiredDuringSchedulingIgnoredDuringExecution"):
            if (key := text(term, "topologyKey")) != _HOST:
                why = f"has TopologyKey {key} but only key {_HOST} is allowed"
                raise forbid(attributes, f"affinity.PodAntiAffinity.RequiredDuringScheduling {why}")
