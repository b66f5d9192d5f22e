"""RuntimeClass: pods get the overhead and the scheduling constraints of their RuntimeClass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.admission.tolerations import merge_tolerations
from masthead_server.resources.validation.checks import amount
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["RuntimeClass"]

_MISMATCH: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClass(AdmissionPlugin):
    """Adds the settings of a RuntimeClass to new pods, and refuses pods with other settings."""

    name = "RuntimeClass"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation creates a pod."""
        return operation is Operation.CREATE and served.table == "pods" and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the overhead, the node selector and the tolerations."""
        spec = part(attributes.object or {}, "spec")
        runtime_class = self._find_class(attributes, spec)
        if runtime_class is None:
            return
        if (overhead := runtime_class.get("overhead")) is not None:
            fixed = part(overhead, "podFixed")
            given = spec.get("overhead")
            if given is not None and not _are_same_amounts(given, fixed):
                raise forbid(attributes, _MISMATCH)
            if fixed:
                spec["overhead"] = dict(fixed)
        if (scheduling := runtime_class.get("scheduling")) is not None:
            _set_scheduling(attributes, spec, scheduling)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check that the overhead is that of the class."""
        spec = part(attributes.object or {}, "spec")
        # Most pods have neither; the class was found by `admit`.
        if spec.get("runtimeClassName") is None and spec.get("overhead") is None:
            return
        overhead = (self._find_class(attributes, spec) or {}).get("overhead")
        if overhead is None:
            if spec.get("overhead") is not None:
                why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                raise forbid(attributes, why)
        elif not _are_same_amounts(part(spec, "overhead"), part(overhead, "podFixed")):
            raise forbid(attributes, _MISMATCH)

    def _find_class(self, attributes: AdmissionAttributes, spec: Plain) -> Plain | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        found = find_object(self.cluster, "node.k8s.io", "v1", "runtimeclasses", name)
        if found is None:
            raise forbid(attributes, f"pod rejected: RuntimeClass {quoted(name)} not found")
        return found


def _set_scheduling(attributes: AdmissionAttributes, spec: Plain, scheduling: Plain) -> None:
    selector = dict(part(spec, "nodeSelector"))
    for key, value in part(scheduling, "nodeSelector").items():
        if selector.setdefault(key, value) != value:
            why = (
                f"runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
            raise forbid(attributes, f"conflict: {why}")
    if selector:
        spec["nodeSelector"] = selector
    if merged := merge_tolerations([*items(spec, "tolerations"), *items(scheduling, "tolerations")]):
        spec["tolerations"] = merged


def _are_same_amounts(one: Plain, other: Plain) -> bool:
    return one.keys() == other.keys() and all(amount(one[name]) == amount(other[name]) for name in one)
