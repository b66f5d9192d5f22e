"""The bootstrap controller: stores the objects that every cluster has, and restores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.bootstrap.network import ApiServerAddress
from masthead_server.bootstrap.objects import bootstrap_objects
from masthead_server.controllers.objects import ObjectClient, ObjectRef
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.bootstrap.objects import BootstrapObject
    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["BootstrapController"]

_FOLLOW_THE_ADDRESS: Final = frozenset({"services", "endpoints", "discovery.k8s.io/endpointslices"})
"""Tables whose bootstrap objects contain the server's address, which differs from run to run."""


class BootstrapController:
    """Stores missing bootstrap objects, and restores the objects that kube-apiserver restores.

    The controller is a part of kube-apiserver, and so runs even without the controller manager.

    Args:
        cluster: The cluster state.
        ip: The address on which the server listens.
        port: Its port.
    """

    def __init__(self, cluster: ClusterState, ip: str, port: int) -> None:
        self._cluster = cluster
        self._client = ObjectClient(cluster)
        network = cluster.allocations.network
        address = ApiServerAddress(ip, port, str(network[1]), str(network))
        self._missing: dict[ObjectRef, tuple[ServedResource, BootstrapObject]] = {}
        self._restored: dict[ObjectRef, tuple[ServedResource, BootstrapObject]] = {}
        for bootstrap_object in bootstrap_objects(address, cluster.now(), cluster.authority):
            served = cluster.catalog.require(bootstrap_object.resource)
            meta = metadata(bootstrap_object.content)
            ref = ObjectRef(served.table, served.key(text(meta, "namespace"), text(meta, "name")))
            self._missing[ref] = (served, bootstrap_object)
            if bootstrap_object.is_restored:
                self._restored[ref] = (served, bootstrap_object)

    @property
    def observes(self) -> frozenset[str]:
        """The tables of what it restores."""
        return frozenset(ref.table for ref in self._restored)

    def store_all(self) -> None:
        """Store missing objects, and objects with another address, when the server starts.

        Raises:
            JournalError: An object could not be stored.
        """
        missing, self._missing = self._missing, {}
        for ref, (served, each) in missing.items():
            self._store(ref, served, each)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile deleted objects."""
        return (write.ref,) if write.record.is_deleted and write.ref in self._restored else ()

    async def reconcile(self, ref: ObjectRef) -> None:
        """Store an object again.

        Raises:
            JournalError: It could not be stored.
        """
        served, each = self._restored[ref]
        self._store(ref, served, each)

    def _store(self, ref: ObjectRef, served: ServedResource, wanted: BootstrapObject) -> None:
        cluster, content = self._cluster, wanted.content
        stored = self._client.load(ref)
        if stored is None:
            now = cluster.now()
            made = {"uid": cluster.new_uid(), "creationTimestamp": now}
            meta = {**metadata(content), **made, "managedFields": wanted.entries(now)}
        elif ref.table in _FOLLOW_THE_ADDRESS and _differs(stored, content):
            meta = metadata(stored)
        else:
            return
        cluster.write(served, ref.key, {**(stored or {}), **content, "metadata": meta})
        if ref.table == "services":
            cluster.allocations.reserve(content)


def _differs(stored: Plain, content: Plain) -> bool:
    return any(stored.get(field) != value for field, value in content.items() if field != "metadata")
