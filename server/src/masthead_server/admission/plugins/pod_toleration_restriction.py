"""PodTolerationRestriction: annotations of a namespace add tolerations to its pods, and limit them. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.tolerations import includes, merge_tolerations
from masthead_server.resources.builtin.core.pod.qos import qos_class
from masthead_server.wire.failures import StatusFailure, not_found
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["PodTolerationRestriction"]

_DEFAULTS: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED: Final = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE: Final = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction(AdmissionPlugin):
    """Merges the default tolerations of a namespace, and refuses pods with others than it allows."""

    name = "PodTolerationRestriction"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation writes a pod."""
        return operation in {Operation.CREATE, Operation.UPDATE} and served.table == "pods" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the defaults; pods with guaranteed resources also stay on nodes that are short of memory."""
        spec = (attributes.object or {}).setdefault("spec", {})
        is_creation = attributes.operation is Operation.CREATE
        added = list(self._read(attributes.namespace, _DEFAULTS) or ()) if is_creation else []
        if qos_class(spec) != "BestEffort":
            added.append(dict(_MEMORY_PRESSURE))
        if added:
            spec["tolerations"] = merge_tolerations([*items(spec, "tolerations"), *added])
        await self.validate(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Compare the tolerations with those that the namespace allows."""
        tolerations = items(part(attributes.object or {}, "spec"), "tolerations")
        allowed = self._read(attributes.namespace, _ALLOWED) if tolerations else None
        if allowed and not all(any(includes(wide, narrow) for wide in allowed) for narrow in tolerations):
            why = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace"
            # kube-apiserver does not wrap this error, which makes it a 500.
            raise StatusFailure(500, "", f"{why} whitelist")

    def _read(self, name: str, annotation: str) -> list[Plain] | None:
        """Return the tolerations of an annotation; None without it."""
        namespace = find_object(self.cluster, "", "v1", "namespaces", name)
        if namespace is None:
            raise not_found("", "namespaces", name)
        value = part(part(namespace, "metadata"), "annotations").get(annotation)
        if value is None:
            return None
        try:
            return cast("list[Plain]", msgspec.json.decode(value, type=list[dict[str, object]])) if value else []
        except msgspec.DecodeError as error:
            # differs from kube-apiserver, which words the errors of Go's decoder.
            raise StatusFailure(
                500, "", f"the annotation {annotation} of namespace {name} is invalid: {error}"
            ) from None
