"""PodResizeValidator: a pod is resized only within the capacity of its node, which must run Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.admission.attributes import Operation
from masthead_server.admission.lookup import find_object
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.resources.amounts import add_amounts, read_amounts
from masthead_server.resources.builtin.core.pod.pod_level_resources import needed, read_resources
from masthead_server.resources.validation.checks import amount
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.failures import StatusFailure
    from masthead_server.wire.plain import Plain

__all__ = ["PodResizeValidator"]


class PodResizeValidator(AdmissionPlugin):
    """Refuses a resize that the node of a pod can never satisfy."""

    name = "PodResizeValidator"

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation resizes a pod."""
        return operation is Operation.UPDATE and served.table == "pods" and subresource == "resize"

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Check a pod on a node whose spec changes."""
        new, old = attributes.object or {}, attributes.old or {}
        spec = part(new, "spec")
        name = text(spec, "nodeName")
        if not name or spec == part(old, "spec"):
            return
        node = find_object(self.cluster, "", "v1", "nodes", name)
        if node is None:
            raise forbid(attributes, f"node {quoted(name)} not found")
        system = part(part(node, "metadata"), "labels").get("kubernetes.io/os", "linux")
        if system != "linux":
            why = f"pod resize is only supported on linux nodes, node {quoted(name)} is {quoted(system)}"
            raise _refuse(attributes, why, "UnsupportedPlatform")
        if lacking := _list_lacking(spec, part(part(node, "status"), "allocatable")):
            why = f"node didn't have enough allocatable resources: {'; '.join(lacking)}"
            raise _refuse(attributes, why, "NodeCapacity")


def _refuse(attributes: AdmissionAttributes, why: str, reason: str) -> StatusFailure:
    refusal = forbid(attributes, why)
    refusal.details = {**(refusal.details or {}), "causes": [{"reason": reason}]}
    return refusal


def _list_lacking(spec: Plain, allocatable: Plain) -> list[str]:
    """Describe the requests of a pod that exceed what a node has."""
    # Requests of the pod itself replace the sums of its containers; the overhead is added to either.
    requests = {**needed(spec, "requests"), **read_resources(spec, "requests")}
    add_amounts(requests, read_amounts(spec, "overhead"))
    cpu, memory = (requests.get(name, amount(None)) for name in ("cpu", "memory"))
    has_cpu, has_memory = (amount(allocatable.get(name)) for name in ("cpu", "memory"))
    lacking: list[str] = []
    if cpu > has_cpu:
        lacking.append(f"cpu, requested: {cpu.milli_value()}, allocatable: {has_cpu.milli_value()}")
    if memory > has_memory:
        lacking.append(f"memory, requested: {memory.value()}, allocatable: {has_memory.value()}")
    return lacking
