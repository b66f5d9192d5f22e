"""PodNodeSelector: pods run on the nodes that an annotation of their namespace selects. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.wire.failures import StatusFailure, not_found
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource

__all__ = ["PodNodeSelector"]

_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/node-selector"


class PodNodeSelector(AdmissionPlugin):
    """Adds the node selector of the namespace to new pods, and refuses pods with a contrary selector."""

    name = "PodNodeSelector"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a pod."""
        return operation is Operation.CREATE and served.table == "pods" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Merge the selectors."""
        await self.validate(attributes)
        spec = (attributes.object or {}).setdefault("spec", {})
        if merged := {**self._find_selector(attributes.namespace), **part(spec, "nodeSelector")}:
            spec["nodeSelector"] = merged

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Compare the selectors."""
        own = part(part(attributes.object or {}, "spec"), "nodeSelector")
        if any(own.get(key, value) != value for key, value in self._find_selector(attributes.namespace).items()):
            raise forbid(attributes, "pod node label selector conflicts with its namespace node label selector")

    def _find_selector(self, name: str) -> dict[str, str]:
        namespace = find_object(self.cluster, "", "v1", "namespaces", name)
        if namespace is None:
            raise not_found("", "namespaces", name)
        return _parse_selector(part(part(namespace, "metadata"), "annotations").get(_ANNOTATION, ""))


def _parse_selector(selector: str) -> dict[str, str]:
    """Return the labels of a selector that consists of equations.

    Raises:
        StatusFailure: If it is no such selector.
    """
    if not selector:
        return {}
    pairs = [term.split("=") for term in selector.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        bad = next(",".join(pair) for pair in pairs if len(pair) != 2)
        raise StatusFailure(500, "", f"invalid selector: [{bad}]")
    return {key.strip(): value.strip() for key, value in pairs}
