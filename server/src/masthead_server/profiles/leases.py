"""Leases of components that do not run: they are renewed as if those did."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectClient, ObjectRef
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.base import ObservedWrite
    from masthead_server.profiles.profile import ProfileObject

__all__ = ["ComponentLeaseController"]

_RENEW_EVERY: Final = 10.0
"""Seconds between two renewals, as for the leases of nodes; leaders renew theirs more often."""


class ComponentLeaseController:
    """Creates the leases of a profile, and renews them until another component takes them over.

    Args:
        cluster: The cluster state.
        leases: The leases.
    """

    observes = frozenset({"coordination.k8s.io/leases"})

    def __init__(self, cluster: ClusterState, leases: Iterable[ProfileObject]) -> None:
        self._cluster = cluster
        self._leases = {ObjectRef(lease.table, lease.key): lease for lease in leases}

    async def create_all(self) -> None:
        """Create the leases that do not exist.

        Raises:
            JournalError: One could not be stored.
        """
        for ref in self._leases:
            await self.reconcile(ref)

    def observe(self, write: ObservedWrite) -> Iterable[ObjectRef]:
        """Reconcile a lease of the profile."""
        return (write.ref,) if write.ref in self._leases else ()

    async def reconcile(self, ref: ObjectRef) -> float | None:
        """Create or renew a lease; returns the seconds until the next renewal.

        Raises:
            JournalError: It could not be stored.
        """
        wanted = self._leases[ref]
        client = ObjectClient(self._cluster, wanted.manager)
        lease = client.load(ref)
        if lease is None:
            await client.create(ref.table, ref.namespace, wanted.content)
            return None
        held, now = part(lease, "spec"), self._cluster.clock.now()
        # A component that runs against this server took it over.
        if text(held, "holderIdentity") != text(part(wanted.content, "spec"), "holderIdentity"):
            return None
        renewed = text(held, "renewTime")
        age = (now - datetime.fromisoformat(renewed)).total_seconds() if renewed else _RENEW_EVERY
        if age < _RENEW_EVERY:
            return _RENEW_EVERY - age
        renewal = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

        def renew(found: Plain) -> None:
            found["spec"]["renewTime"] = renewal

        await client.update(ref, renew)
        return _RENEW_EVERY
