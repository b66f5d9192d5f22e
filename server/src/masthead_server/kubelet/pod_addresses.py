"""The addresses of pods, unique among existing pods: from their node's network, or else from the overflow network."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address
from typing import TYPE_CHECKING

from masthead_server.kubelet.node_addresses import OVERFLOW, OVERFLOW_SIZE
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.storage import Record

__all__ = ["PodAddresses"]

_OVERFLOW = (OVERFLOW, OVERFLOW_SIZE)
_RESERVED = 2
"""The number of reserved addresses: the network's, and the node's."""


class PodAddresses:
    """Allocates addresses of pods, and releases them after their removal.

    Args:
        cluster: The cluster state.
        served: The resource of pods.
    """

    def __init__(self, cluster: ClusterState, served: ServedResource) -> None:
        self._owners: dict[int, str] = {}
        self._addresses: dict[str, int] = {}
        self._next: dict[tuple[int, int], int] = {}
        for record, pod in cluster.objects(served):
            if address := _parse(text(part(pod, "status"), "podIP")):
                self._owners[address] = record.key
                self._addresses[record.key] = address
        cluster.observe(served.table, self._observe)

    def take(self, key: str, network: tuple[int, int]) -> str:
        """Return the address of a pod; allocate one if it has none.

        Args:
            key: The key of the pod.
            network: The first address and the size of its node's network.
        """
        known = self._addresses.get(key)
        if known is not None:
            return str(IPv4Address(known))
        address = self._find(network) or self._find(_OVERFLOW)
        self._owners[address] = key
        self._addresses[key] = address
        return str(IPv4Address(address))

    def _find(self, network: tuple[int, int]) -> int:
        """Return the next free address of a network; 0 for a full one."""
        first, size = network
        usable = size - _RESERVED - 1
        start = self._next.get(network, 0)
        for step in range(usable):
            offset = (start + step) % usable
            address = first + _RESERVED + offset
            if address not in self._owners:
                # Released addresses are reused as late as possible.
                self._next[network] = offset + 1
                return address
        return 0

    def _observe(self, _served: ServedResource, record: Record) -> None:
        if not record.is_deleted:
            return
        address = self._addresses.pop(record.key, 0)
        # Pods of a dump may share an address.
        if self._owners.get(address) == record.key:
            del self._owners[address]


def _parse(address: str) -> int:
    try:
        return int(IPv4Address(address))
    except AddressValueError:
        return 0
