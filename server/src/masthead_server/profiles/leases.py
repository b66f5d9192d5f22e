"""Leases of simulated components and kubelets, which are renewed as by real ones."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectClient, ObjectRef, uid_of
from masthead_server.kubelet.lifecycle import KUBELET
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.profiles.profile import ProfileObject

__all__ = ["ComponentLeaseController", "NodeLeaseController"]

_LEASES: Final = "coordination.k8s.io/leases"
_NODES: Final = "nodes"
_NODE_LEASES: Final = "kube-node-lease"
_NODE_LEASE_SECONDS: Final = 40
_RENEW_EVERY: Final = 10.0
"""Seconds between renewals, as for a kubelet; real leaders renew more often."""


class ComponentLeaseController:
    """Creates the leases of a profile, and renews them until another component takes them over.

    Args:
        cluster: The cluster state.
        leases: The leases.
    """

    observes = frozenset({_LEASES})

    def __init__(self, cluster: ClusterState, leases: Iterable[ProfileObject]) -> None:
        self._cluster = cluster
        self._leases = {ObjectRef(lease.table, lease.key): lease for lease in leases}

    async def create_all(self) -> None:
        """Create the missing leases.

        Raises:
            JournalError: One could not be stored.
        """
        for ref in self._leases:
            await self.reconcile(ref)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a lease of the profile."""
        return (write.ref,) if write.ref in self._leases else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create or renew a lease; return the seconds until the next renewal.

        Raises:
            JournalError: It could not be stored.
        """
        wanted = self._leases[ref]
        client = ObjectClient(self._cluster, wanted.manager)
        lease = client.load(ref)
        if lease is None:
            await client.create(ref.table, ref.namespace, wanted.content)
            return None
        # A real component has acquired the lease.
        if text(part(lease, "spec"), "holderIdentity") != text(part(wanted.content, "spec"), "holderIdentity"):
            return None
        return await _renew(client, ref, lease)


class NodeLeaseController:
    """Creates and renews the leases of nodes, the heartbeats of their kubelets.

    Args:
        cluster: The cluster state.
        runs: Tells whether a node exists and has not failed.
    """

    observes = frozenset({_NODES, _LEASES})

    def __init__(self, cluster: ClusterState, runs: Callable[[str], bool]) -> None:
        self._client = ObjectClient(cluster, KUBELET)
        self._runs = runs

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile the lease of a node."""
        if write.ref.table == _NODES:
            return (ObjectRef(_LEASES, f"{_NODE_LEASES}/{write.ref.name}"),)
        return (write.ref,) if write.ref.namespace == _NODE_LEASES else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create or renew a lease; return the seconds until the next renewal.

        Raises:
            JournalError: It could not be stored.
        """
        node = self._client.load(ObjectRef(_NODES, ref.name))
        # The recovery writes the node, which starts the renewals again.
        if node is None or not self._runs(ref.name):
            return None
        lease = self._client.load(ref)
        if lease is not None:
            return await _renew(self._client, ref, lease)
        owner = {"apiVersion": "v1", "kind": "Node", "name": ref.name, "uid": uid_of(node)}
        spec = {
            "holderIdentity": ref.name,
            "leaseDurationSeconds": _NODE_LEASE_SECONDS,
            "renewTime": _micro_time(self._client.cluster.clock.now()),
        }
        meta = {"name": ref.name, "namespace": _NODE_LEASES, "ownerReferences": [owner]}
        await self._client.create(_LEASES, _NODE_LEASES, {"metadata": meta, "spec": spec})
        return None


async def _renew(client: ObjectClient, ref: ObjectRef, lease: Plain) -> float:
    """Renew a lease if it is due; return the seconds until the next renewal."""
    now, renewed = client.cluster.clock.now(), text(part(lease, "spec"), "renewTime")
    age = (now - datetime.fromisoformat(renewed)).total_seconds() if renewed else _RENEW_EVERY
    if age < _RENEW_EVERY:
        return _RENEW_EVERY - age

    def renew(found: Plain) -> None:
        found["spec"]["renewTime"] = _micro_time(now)

    await client.update(ref, renew)
    return _RENEW_EVERY


def _micro_time(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
