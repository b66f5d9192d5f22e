"""ExtendedResourceToleration: pods tolerate the taints of nodes for the extended resources that they request.

Off by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.resources.validation.resource_requirements import is_extended
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["ExtendedResourceToleration"]


class ExtendedResourceToleration(AdmissionPlugin):
    """Adds a toleration for each extended resource."""

    name = "ExtendedResourceToleration"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == "pods" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Add or replace the tolerations."""
        spec = part(attributes.object or {}, "spec")
        containers = (*items(spec, "containers"), *items(spec, "initContainers"))
        requests = (part(part(container, "resources"), "requests") for container in containers)
        for resource in sorted({name for amounts in requests for name in amounts if is_extended(name)}):
            _set_toleration(spec, {"key": resource, "operator": "Exists", "effect": "NoSchedule"})


def _set_toleration(spec: Plain, toleration: Plain) -> None:
    """Add a toleration, or replace the one for the same taint."""
    identity = ("key", "effect", "operator", "value")
    tolerations = items(spec, "tolerations")
    is_same = [all(text(other, field) == text(toleration, field) for field in identity) for other in tolerations]
    replaced = [toleration if same else other for other, same in zip(tolerations, is_same, strict=True)]
    spec["tolerations"] = replaced if any(is_same) else [*replaced, toleration]
