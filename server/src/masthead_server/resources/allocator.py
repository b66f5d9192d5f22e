"""The allocator of cluster IPs and node ports, which also looks up classes and the time.

Nothing here is random: the lowest free one is allocated, so that a test sees the same addresses every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Final, TypeAlias, cast

from masthead_server.wire.plain import Plain, items, part

Listed: TypeAlias = Callable[[str, str], Iterable[Plain]]
"""Gives the stored objects of a group and a resource."""

_SERVICE_NETWORK: Final = IPv4Network("10.0.0.0/16")
"""Begins where kube-apiserver's default does, but has more than its 254 addresses."""
_NODE_PORTS: Final = range(30000, 32768)


class Taken(Exception):  # noqa: N818 - it is a fact, and the caller words the refusal
    """The address or port is allocated to another service."""


class Spent(Exception):  # noqa: N818 - as above
    """Every address or port is allocated."""


def _beginning() -> str:
    return "1970-01-01T00:00:00Z"


def _nothing_listed(_group: str, _resource: str) -> Iterable[Plain]:
    return ()


class Allocator:
    """Allocates and releases cluster IPs and node ports.

    What is handed out counts as a draft until `keep`; `undo` gives it back, which is what a refused request or a
    dry run ends with. What is given back during a draft is free only after `keep`.

    Args:
        listed: Gives the stored objects of a kind, for rules that depend on classes.
        now: Gives the time as metadata has it.
        network: Where cluster IPs come from.
        ports: Where node ports come from.
    """

    def __init__(
        self,
        listed: Listed = _nothing_listed,
        *,
        now: Callable[[], str] = _beginning,
        network: IPv4Network = _SERVICE_NETWORK,
        ports: range = _NODE_PORTS,
    ) -> None:
        self.listed = listed
        self.now = now
        self.network = network
        self.ports = ports
        self._addresses: set[int] = set()
        self._ports: set[int] = set()
        self._drafted: list[tuple[set[int], int]] = []
        self._returned: list[tuple[set[int], int]] = []
        self._next_address = int(network.network_address) + 1
        self._next_port = ports.start

    def address(self, wanted: str = "") -> str:
        """Take a cluster IP.

        Args:
            wanted: The one to take; any if it is empty.

        Raises:
            Taken: If it is allocated.
            Spent: If all are allocated.
        """
        if wanted:
            self._take(self._addresses, int(ip_address(wanted)))
            return wanted
        last = int(self.network.broadcast_address) - 1
        number = self._first_free(self._addresses, self._next_address, last)
        self._take(self._addresses, number)
        self._next_address = number + 1
        return str(IPv4Address(number))

    def port(self, wanted: int = 0) -> int:
        """Take a node port.

        Args:
            wanted: The one to take; any if it is 0.

        Raises:
            Taken: If it is allocated.
            Spent: If all are allocated.
        """
        number = wanted or self._first_free(self._ports, self._next_port, self.ports.stop - 1)
        self._take(self._ports, number)
        if not wanted:
            self._next_port = number + 1
        return number

    def holds(self, address: str) -> bool:
        """Tell whether an address is one of those that may be handed out."""
        return ip_address(address) in self.network

    def drop_address(self, address: str) -> None:
        """Release a cluster IP once the draft is kept."""
        self._returned.append((self._addresses, int(ip_address(address))))

    def drop_port(self, port: int) -> None:
        """Release a node port once the draft is kept."""
        self._returned.append((self._ports, port))

    def keep(self) -> None:
        """Make the draft final."""
        self._drafted.clear()
        for supply, number in self._returned:
            self._free(supply, number)
        self._returned.clear()

    def undo(self) -> None:
        """Drop the draft."""
        for supply, number in self._drafted:
            self._free(supply, number)
        self._drafted.clear()
        self._returned.clear()

    def release(self, service: Plain) -> None:
        """Release at once all that a deleted service held."""
        self._each_held(service, self._free)

    def reserve(self, service: Plain) -> None:
        """Count as held what a service holds; it is how the state is built anew from stored services."""
        self._each_held(service, lambda supply, number: supply.add(number))

    def _each_held(self, service: Plain, act: Callable[[set[int], int], None]) -> None:
        spec = part(service, "spec")
        for address in cast("list[str]", spec.get("clusterIPs") or []):
            if address and address != "None":
                act(self._addresses, int(ip_address(address)))
        ports = [each.get("nodePort") for each in items(spec, "ports")]
        for port in (*ports, spec.get("healthCheckNodePort")):
            if port:
                act(self._ports, port)

    def _take(self, supply: set[int], number: int) -> None:
        if number in supply:
            raise Taken
        supply.add(number)
        self._drafted.append((supply, number))

    def _free(self, supply: set[int], number: int) -> None:
        supply.discard(number)
        # The search starts at the lowest number that may be free.
        if supply is self._addresses and number in range(int(self.network.network_address) + 1, self._next_address):
            self._next_address = number
        elif supply is self._ports and number in range(self.ports.start, self._next_port):
            self._next_port = number

    @staticmethod
    def _first_free(supply: set[int], start: int, last: int) -> int:
        while start in supply:
            start += 1
        if start > last:
            raise Spent
        return start
