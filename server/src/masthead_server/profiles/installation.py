"""Installs a profile: creates its objects when a server starts, and keeps its static pods and leases."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectClient, ObjectRef
from masthead_server.kubelet.static_pods import StaticPodController
from masthead_server.profiles.leases import ComponentLeaseController, NodeLeaseController
from masthead_server.profiles.profile import ProfileContext
from masthead_server.storage import JournalError
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.plain import items, part, text
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.cluster import ClusterState
    from masthead_server.controllers.manager import ControllerManager
    from masthead_server.profiles.profile import ClusterProfile

__all__ = ["ProfileInstallation"]

_log: Final = logging.getLogger("masthead.server")


class ProfileInstallation:
    """A profile in a cluster whose nodes are registered.

    Args:
        cluster: The cluster state.
        profile: The profile.
        runs: Tells whether a node exists and has not failed.
    """

    def __init__(self, cluster: ClusterState, profile: ClusterProfile, runs: Callable[[str], bool]) -> None:
        self._cluster = cluster
        self._profile = profile
        self._runs = runs
        self._context = ProfileContext(cluster.authority, _address_of(cluster, profile.nodes(1)[0].name), cluster.now())
        self._leases = ComponentLeaseController(cluster, profile.leases(self._context))

    def add_controllers(self, controllers: ControllerManager) -> None:
        """Add the controllers of static pods and of leases."""
        controllers.add("static-pods", StaticPodController(self._cluster, self._profile.static_pods(self._context)))
        controllers.add("component-leases", self._leases)
        controllers.add("node-leases", NodeLeaseController(self._cluster, self._runs))

    async def install(self) -> None:
        """Create the missing objects, as clients of the API do.

        Raises:
            JournalError: An object could not be stored.
        """
        for wanted in self._profile.objects(self._context):
            if self._cluster.storage.table(wanted.table).get(wanted.key) is not None:
                continue
            client = ObjectClient(self._cluster, wanted.manager, ADMIN)
            try:
                await client.create_or_raise(wanted.table, wanted.namespace, wanted.content)
            except JournalError:
                raise
            except StatusFailure as failure:
                # A data file may have policies against it, or another Service with its address.
                _log.warning("%s %s of the profile is not created: %s", wanted.table, wanted.key, failure.message)
        await self._leases.create_all()


def _address_of(cluster: ClusterState, node: str) -> str:
    found = ObjectClient(cluster).load(ObjectRef("nodes", node)) or {}
    addresses = {
        text(address, "type"): text(address, "address") for address in items(part(found, "status"), "addresses")
    }
    return addresses.get("InternalIP", "")
