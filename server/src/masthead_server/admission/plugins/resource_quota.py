"""ResourceQuota: requests must fit into the quotas of their namespace, and are charged to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.namespaced_objects import NamespacedObjects
from masthead_server.admission.plugin import AdmissionPlugin
from masthead_server.admission.quota.decision import QuotaRefusal, charge
from masthead_server.admission.quota.quota import Quota
from masthead_server.admission.quota.registry import evaluator_of
from masthead_server.admission.refusals import forbid
from masthead_server.field_managers.own_entries import CLUSTER_MANAGER
from masthead_server.resources.amounts import Amounts, write_amounts
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.admission.attributes import AdmissionAttributes, Operation
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource

__all__ = ["ResourceQuota"]

_QUOTAS = "resourcequotas"


class ResourceQuota(AdmissionPlugin):
    """Refuses what exceeds a quota, and writes the usage of the rest to the status of the quotas.

    It is the last plugin, because its charge stays if a later one refuses; only the quota controller takes it back.
    """

    name = "ResourceQuota"

    def __init__(self, cluster: ClusterState) -> None:
        super().__init__(cluster)
        self._quotas = NamespacedObjects(cluster, _QUOTAS, Quota.read)

    def handles(self, operation: Operation, served: ServedResource, subresource: str) -> bool:
        """Tell whether the operation may change the usage of a quota."""
        evaluator = evaluator_of(served)
        return evaluator is not None and evaluator.handles(operation, subresource)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Charge the request to the quotas of its namespace."""
        quotas = self._quotas.within(attributes.namespace)
        evaluator = evaluator_of(attributes.served) if quotas else None
        if evaluator is None or attributes.object is None or not evaluator.concerns(attributes):
            return
        try:
            used = charge(quotas, evaluator, attributes, self.cluster.clock.now())
        except QuotaRefusal as refusal:
            raise forbid(attributes, str(refusal)) from None
        if not attributes.is_dry_run:
            # Nothing awaits since the check, so that no other request is charged between.
            for name, amounts in used.items():
                self._store(attributes.namespace, name, amounts)

    def _store(self, namespace: str, name: str, used: Amounts) -> None:
        """Write the usage of a quota to its status, as kube-apiserver's own client does."""
        # The import loads the schemas of the built-in kinds.
        from masthead_server.field_managers.field_manager import field_manager_of

        cluster = self.cluster
        served = cluster.catalog.require(GroupVersionResource("", "v1", _QUOTAS))
        key = served.key(namespace, name)
        live = served.load(cluster.find(served, namespace, name))
        status = {**part(live, "status"), "used": write_amounts(used)}
        new = {**live, "metadata": {**part(live, "metadata")}, "status": status}
        field_manager_of(served, "status").update(live, new, CLUSTER_MANAGER, cluster.now())
        cluster.write(served, key, new)
