"""DefaultTolerationSeconds: pods tolerate nodes that are not ready or unreachable for five minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.admission.attributes import Operation
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.wire.plain import items, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["DefaultTolerationSeconds", "tolerate_lost_nodes"]

_SECONDS: Final = 300
_LOST_NODE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds(AdmissionPlugin):
    """Adds the default tolerations to pods."""

    name = "DefaultTolerationSeconds"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == "pods" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the tolerations that are missing."""
        if attributes.object is not None:
            tolerate_lost_nodes(attributes.object.setdefault("spec", {}))


def tolerate_lost_nodes(spec: Plain) -> None:
    """Add the default tolerations for nodes that are not ready or unreachable."""
    tolerations = items(spec, "tolerations")
    # A toleration without a key tolerates every taint of its effect.
    tolerated = {
        text(toleration, "key") for toleration in tolerations if toleration.get("effect") in {None, "", "NoExecute"}
    }
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
        for key in _LOST_NODE
        if key not in tolerated and "" not in tolerated
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]
