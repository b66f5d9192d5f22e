"""Validation of IP addresses and networks."""

from __future__ import annotations

import re
from ipaddress import IPv6Interface, ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Interface, IPv6Address

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
    """Validate an address in a field that is older than the rule for canonical addresses."""
    address = parse_interface(f"{value}/0") if "/" not in value else None
    if address is None:
        return [invalid(path, value, _NOT_IP)]
    if _strip_zeros(value) != value:
        return [invalid(path, value, "must not have leading 0s")]
    if isinstance(address, IPv6Interface) and address.ip.ipv4_mapped is not None:
        return [invalid(path, value, "must not be an IPv4-mapped IPv6 address")]
    return []


def cidr_errors(path: str, value: str) -> Errors:
    """Validate a network in a field that is older than the rule for canonical networks."""
    interface = parse_interface(value)
    if interface is None:
        return [invalid(path, value, _NOT_NETWORK)]
    if _strip_zeros(value) != value:
        return [invalid(path, value, "must not have leading 0s in IP or prefix length")]
    if isinstance(interface, IPv6Interface) and interface.ip.ipv4_mapped is not None:
        return [invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if interface.ip != interface.network.network_address:
        return [invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def parse_interface(value: str) -> IPv4Interface | IPv6Interface | None:
    """Read an address with a prefix length as Go does, with leading zeros; None if it is none."""
    # Python takes an address for a network of one host, and reads zones and masks; Go requires a length.
    if not _WITH_LENGTH.fullmatch(value):
        return None
    try:
        return ip_interface(_strip_zeros(value))
    except ValueError:
        return None


def _strip_zeros(value: str) -> str:
    """Remove the leading zeros of decimal numbers, which Python does not read in IPv4 addresses."""
    address, slash, length = value.partition("/")
    if ":" not in address:
        address = _LEADING_ZEROS.sub("", address)
    return f"{address}{slash}{_LEADING_ZEROS.sub('', length)}"


_WITH_LENGTH: Final = re.compile(r"[0-9a-fA-F.:]+/[0-9]+")
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9])0+(?=[0-9])")
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
