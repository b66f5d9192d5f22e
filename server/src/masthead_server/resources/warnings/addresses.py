"""Warnings about IP addresses that are not in canonical form."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from masthead._meta.quoting import quoted
from masthead_server.wire.plain import Plain, items, part, text

_SLOPPY: Final = re.compile(r"0*\d{1,3}(\.0*\d{1,3}){3}", re.ASCII)


def address_warnings(path: str, value: str) -> list[str]:
    """Return how an address should be written, if it should be written in another way."""
    if ":" not in value:
        return _check_dotted(path, value)
    address = _v6(value)
    if address is None:
        return []
    if address.ipv4_mapped is not None:  # before they are compared: Python's way to write these has changed
        return [_standard(path, value, str(address.ipv4_mapped))]
    return [] if str(address) == value else [_canonical(path, "address", value, str(address))]


def network_warnings(path: str, value: str) -> list[str]:
    """Return how a valid network should be written, if it should be written in another way."""
    base, slash, length = value.partition("/")
    address = _v6(base) if ":" in base else None
    better = f"{address}/{length}" if address is not None and slash else value
    return [] if better == value else [_canonical(path, "CIDR value", value, better)]


def _v6(value: str) -> ipaddress.IPv6Address | None:
    try:
        found = ipaddress.IPv6Address(value)
    except ValueError:
        return None
    return None if found.scope_id else found


def _check_dotted(path: str, value: str) -> list[str]:
    if not _SLOPPY.fullmatch(value):
        return []
    numbers = [int(word.lstrip("0") or "0") for word in value.split(".")]
    better = ".".join(map(str, numbers))
    return [_standard(path, value, better)] if better != value and max(numbers) < 256 else []


def _standard(path: str, value: str, better: str) -> str:
    return f"{path}: non-standard IP address {quoted(value)} is invalid: use {quoted(better)}"


def _canonical(path: str, what: str, value: str, better: str) -> str:
    return f"{path}: IPv6 {what} {quoted(value)} should be in RFC 5952 canonical format ({quoted(better)})"


def load_balancer_status_warnings(new: Plain, _: Plain) -> list[str]:
    """Return the warnings about the addresses in a load balancer status."""
    balancer = part(part(new, "status"), "loadBalancer")
    found: list[str] = []
    for index, item in enumerate(items(balancer, "ingress")):
        found += address_warnings(f"status.loadBalancer.ingress[{index}]", text(item, "ip"))
    return found
