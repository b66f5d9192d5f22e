"""LimitRanger: the limit ranges of a namespace set defaults in pods, and bound pods and claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.admission.attributes import Operation
from masthead_server.admission.limit_ranges import LimitRange
from masthead_server.admission.namespaced_objects import NamespacedObjects
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.refusals import forbid
from masthead_server.wire.plain import is_being_deleted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["LimitRanger"]


class LimitRanger(AdmissionPlugin):
    """Sets default resources in containers, and refuses pods and claims that are out of bounds."""

    name = "LimitRanger"

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        self._ranges = NamespacedObjects(cluster, "limitranges", LimitRange.read)

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation sets the resources of a pod or a claim."""
        if served.table == "pods":
            # The resources of a pod change through its subresource only.
            wanted = {Operation.CREATE: "", Operation.UPDATE: "resize"}
            return wanted.get(operation) == subresource
        is_write = operation in {Operation.CREATE, Operation.UPDATE}
        return served.table == "persistentvolumeclaims" and is_write and not subresource

    async def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the defaults of a pod."""
        if attributes.served.table == "pods" and attributes.object is not None:
            for limit_range in self._find(attributes):
                limit_range.set_defaults(attributes.object)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse a pod or a claim that is out of bounds."""
        found = attributes.object
        if found is None:
            return
        for limit_range in self._find(attributes):
            is_pod = attributes.served.table == "pods"
            problems = limit_range.check_pod(found) if is_pod else limit_range.check_claim(found)
            if problems:
                # Equal problems of several containers are reported once.
                texts = list(dict.fromkeys(problems))
                raise forbid(attributes, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")

    def _find(self, attributes: AdmissionAttributes) -> Sequence[LimitRange]:
        if attributes.old is not None and is_being_deleted(attributes.old):
            return ()
        return self._ranges.within(attributes.namespace)
