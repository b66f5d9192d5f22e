"""Cluster IPs and node ports: those in use, and the allocator of one write, which also looks up classes and the time.

Nothing here is random: the lowest free one is allocated, so that a test sees the same addresses every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Final, TypeAlias, cast

from masthead_server.wire.plain import Plain, items, part

Listed: TypeAlias = Callable[[str, str], Iterable[Plain]]
"""Returns the stored objects of a group and a resource."""

_SERVICE_NETWORK: Final = IPv4Network("10.0.0.0/16")
"""Begins where kube-apiserver's default does, but has more than its 254 addresses."""
_NODE_PORTS: Final = range(30000, 32768)


class AddressInUse(Exception):  # noqa: N818 - the caller words the refusal
    """The address or port is allocated to another service."""


class RangeExhausted(Exception):  # noqa: N818 - as above
    """Every address or port is allocated."""


def _epoch() -> str:
    return "1970-01-01T00:00:00Z"


def _list_nothing(_group: str, _resource: str) -> Iterable[Plain]:
    return ()


class Allocations:
    """The cluster IPs and node ports in use.

    Args:
        network: The range of cluster IPs.
        ports: The range of node ports.
    """

    def __init__(self, *, network: IPv4Network = _SERVICE_NETWORK, ports: range = _NODE_PORTS) -> None:
        self.network = network
        self.ports = ports
        self._addresses: set[int] = set()
        self._ports: set[int] = set()
        self._next_address = int(network.network_address) + 1
        self._next_port = ports.start

    def take_address(self, address: int | None) -> int:
        """Take an address, by default the lowest free one.

        Raises:
            AddressInUse: If it is allocated.
            RangeExhausted: If all are allocated.
        """
        if address is not None:
            return _take(self._addresses, address)
        last = int(self.network.broadcast_address) - 1
        lowest = _take(self._addresses, _first_free(self._addresses, self._next_address, last))
        self._next_address = lowest + 1
        return lowest

    def take_port(self, port: int | None) -> int:
        """Take a port, by default the lowest free one; raises as `take_address`."""
        if port is not None:
            return _take(self._ports, port)
        lowest = _take(self._ports, _first_free(self._ports, self._next_port, self.ports.stop - 1))
        self._next_port = lowest + 1
        return lowest

    def free_address(self, address: int) -> None:
        """Return an address to the range."""
        self._addresses.discard(address)
        # The search starts at the lowest number that may be free.
        if int(self.network.network_address) < address < self._next_address:
            self._next_address = address

    def free_port(self, port: int) -> None:
        """Return a port to the range."""
        self._ports.discard(port)
        if self.ports.start <= port < self._next_port:
            self._next_port = port

    def reserve(self, service: Plain) -> None:
        """Mark the addresses and ports of a stored service as used, when the server starts."""
        addresses, ports = _held_by(service)
        self._addresses.update(addresses)
        self._ports.update(ports)

    def release(self, service: Plain) -> None:
        """Free the addresses and ports of a deleted service."""
        addresses, ports = _held_by(service)
        for address in addresses:
            self.free_address(address)
        for port in ports:
            self.free_port(port)


class Allocator:
    """The allocations of one write, which are final after `keep`; `undo` returns them.

    Every write has a separate allocator, because writes may overlap: a waiting write holds its allocations, and a
    refused write returns no others.

    Args:
        allocations: The addresses and ports in use.
        listed: Returns the stored objects of a kind, for rules that depend on classes.
        now: Returns the time in the format of metadata.
    """

    def __init__(
        self, allocations: Allocations, listed: Listed = _list_nothing, *, now: Callable[[], str] = _epoch
    ) -> None:
        self.allocations = allocations
        self.listed = listed
        self.now = now
        self.warnings: list[str] = []
        """Warnings of what a hook changes, for the response."""
        self._taken: list[Callable[[], None]] = []
        self._returned: list[Callable[[], None]] = []

    @property
    def network(self) -> IPv4Network:
        """The range of cluster IPs."""
        return self.allocations.network

    @property
    def ports(self) -> range:
        """The range of node ports."""
        return self.allocations.ports

    def address(self, wanted: str = "") -> str:
        """Take a cluster IP.

        Args:
            wanted: The one to take; any if it is empty.

        Raises:
            AddressInUse: If it is allocated.
            RangeExhausted: If all are allocated.
        """
        number = self.allocations.take_address(int(ip_address(wanted)) if wanted else None)
        self._taken.append(partial(self.allocations.free_address, number))
        return wanted or str(IPv4Address(number))

    def port(self, wanted: int = 0) -> int:
        """Take a node port.

        Args:
            wanted: The one to take; any if it is 0.

        Raises:
            AddressInUse: If it is allocated.
            RangeExhausted: If all are allocated.
        """
        number = self.allocations.take_port(wanted or None)
        self._taken.append(partial(self.allocations.free_port, number))
        return number

    def holds(self, address: str) -> bool:
        """Tell whether an address is within the range."""
        return ip_address(address) in self.network

    def drop_address(self, address: str) -> None:
        """Release a cluster IP with `keep`: until then the stored service uses it."""
        self._returned.append(partial(self.allocations.free_address, int(ip_address(address))))

    def drop_port(self, port: int) -> None:
        """Release a node port with `keep`."""
        self._returned.append(partial(self.allocations.free_port, port))

    def keep(self) -> None:
        """Make the allocations final, and release the dropped ones."""
        self._taken.clear()
        for free in self._returned:
            free()
        self._returned.clear()

    def undo(self) -> None:
        """Return the allocations of a refused write or a dry run; after `keep` there are none."""
        for free in self._taken:
            free()
        self._taken.clear()
        self._returned.clear()


def _take(numbers: set[int], number: int) -> int:
    if number in numbers:
        raise AddressInUse
    numbers.add(number)
    return number


def _first_free(numbers: set[int], start: int, last: int) -> int:
    while start in numbers:
        start += 1
    if start > last:
        raise RangeExhausted
    return start


def _held_by(service: Plain) -> tuple[list[int], list[int]]:
    """Return the addresses and ports of a service."""
    spec = part(service, "spec")
    addresses = [
        int(ip_address(address))
        for address in cast("list[str]", spec.get("clusterIPs") or [])
        if address and address != "None"
    ]
    ports = [port.get("nodePort") for port in items(spec, "ports")]
    return addresses, [port for port in (*ports, spec.get("healthCheckNodePort")) if port]
