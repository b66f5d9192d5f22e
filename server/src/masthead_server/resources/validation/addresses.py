"""Validation of IP addresses and networks."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from masthead_server.resources.behavior import Errors


def is_ip(value: str) -> bool:
    """Tell whether a text is an IP address."""
    try:
        ip_address(value)
    except ValueError:
        return False
    return True


PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_NOT_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NOT_NETWORK: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def ip_errors(path: str, value: str) -> Errors:
    """Validate an address in a field that is older than the strict validation of addresses."""
    try:
        ip_address(value)
    except ValueError:
        return [invalid(path, value, _NOT_IP)]
    return []


def cidr_errors(path: str, value: str) -> Errors:
    """Validate a network in a field that is older than the strict rules for networks."""
    try:
        ip_network(value, strict=False)
    except ValueError:
        return [invalid(path, value, _NOT_NETWORK)]
    # Python takes an address for a network of one host; Go requires the length.
    return [] if "/" in value else [invalid(path, value, _NOT_NETWORK)]


_SPECIAL: Final = (
    ("is_unspecified", "may not be unspecified ({})"),
    ("is_loopback", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
    ("is_link_local", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
    ("is_multicast", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
)


def endpoint_ip_errors(path: str, value: str) -> Errors:
    """Validate the address of an endpoint: loopback, link-local and unspecified addresses are invalid."""
    address = ip_address(value)
    return [
        invalid(path, value, why.format(value))
        for fact, why in _SPECIAL
        if getattr(address, fact) and (fact != "is_multicast" or _is_local_multicast(address))
    ]


def _is_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    return address in ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
