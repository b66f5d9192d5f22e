"""The addresses of nodes and pods, by the number of the node.

==================  =================================================================================================
``10.0.0.1``        the first node; the others follow
``10.244.0.0/24``   the pods of the first node; up to the 256th, the others follow
``10.160.0.0/24``   the pods of the 257th; the others follow
``100.64.0.0/10``   pods of nodes that have no addresses left, or no network of their own
==================  =================================================================================================
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final

__all__ = ["OVERFLOW", "OVERFLOW_SIZE", "host_ip", "network_of", "pod_cidr"]

_HOSTS: Final = int(IPv4Address("10.0.0.1"))
_FIRST_PODS: Final = int(IPv4Address("10.244.0.0"))
_MORE_PODS: Final = int(IPv4Address("10.160.0.0"))
_SMALL_CLUSTER: Final = 256
"""The number of /24 networks in 10.244.0.0/16."""
_SIZE: Final = 256
OVERFLOW: Final = int(IPv4Address("100.64.0.0"))
OVERFLOW_SIZE: Final = 1 << 22


def host_ip(ordinal: int) -> str:
    """Return the address of a node."""
    return str(IPv4Address(_HOSTS + ordinal))


def pod_cidr(ordinal: int) -> str:
    """Return the network of a node's pods."""
    first = _FIRST_PODS + ordinal * _SIZE
    if ordinal >= _SMALL_CLUSTER:
        first = _MORE_PODS + (ordinal - _SMALL_CLUSTER) * _SIZE
    return f"{IPv4Address(first)}/24"


def network_of(cidr: str) -> tuple[int, int]:
    """Return the first address and the size of a network; the shared overflow network unless it is IPv4."""
    address, _, length = cidr.partition("/")
    try:
        return int(IPv4Address(address)), 1 << (32 - int(length))
    except ValueError:
        return OVERFLOW, OVERFLOW_SIZE
