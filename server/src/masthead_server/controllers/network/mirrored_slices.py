"""Plans for mirrored slices: group the addresses of Endpoints, and match the groups with stored slices."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead_server.controllers.network.subsets import repack_subsets
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MAX_MIRRORED", "MirrorPlan", "Mirrored", "WantedSlice", "are_equal", "mirror", "plan_mirrors"]

MAX_MIRRORED: Final = 1000
"""The maximum number of mirrored addresses of a subset."""
_IPV4: Final = "IPv4"
_IPV6: Final = "IPv6"
_STATES: Final = ("addresses", "notReadyAddresses")


@dataclass(slots=True)
class WantedSlice:
    """The slice of one address type and one set of ports.

    Attributes:
        address_type: ``IPv4`` or ``IPv6``.
        ports: Its ports.
        endpoints: Its endpoints.
    """

    address_type: str
    ports: list[Plain]
    endpoints: list[Plain] = field(default_factory=list[Plain])

    @property
    def key(self) -> tuple[str, bytes]:
        """Address type and ports: a slice with the same key can be updated in place."""
        return self.address_type, _encode(self.ports)


class Mirrored(NamedTuple):
    """The slices that Endpoints call for.

    Attributes:
        slices: The slices, none of them empty.
        invalid: The number of addresses that are not IPs.
        skipped: The number of addresses left out, invalid ones included.
    """

    slices: list[WantedSlice]
    invalid: int
    skipped: int


def mirror(subsets: Iterable[Plain]) -> Mirrored:
    """Build the slices of Endpoints."""
    slices: dict[tuple[str, bytes], WantedSlice] = {}
    invalid = skipped = 0
    for subset in repack_subsets(subsets):
        ports = sorted(map(_slice_port, items(subset, "ports")), key=_encode)
        addresses = [(address, name == "addresses") for name in _STATES for address in items(subset, name)]
        added = 0
        for address, is_ready in addresses:
            if added == MAX_MIRRORED:
                skipped += 1
                continue
            endpoint = _convert(address, is_ready=is_ready)
            if endpoint is None:
                invalid, skipped = invalid + 1, skipped + 1
                continue
            added += 1
            kind = _IPV6 if ":" in endpoint["addresses"][0] else _IPV4
            wanted = WantedSlice(kind, ports)
            slices.setdefault(wanted.key, wanted).endpoints.append(endpoint)
    return Mirrored([_without_duplicates(wanted) for wanted in slices.values()], invalid, skipped)


def _slice_port(port: Plain) -> Plain:
    found: Plain = {
        "name": text(port, "name"),
        "port": port.get("port"),
        "protocol": text(port, "protocol") or "TCP",
    }
    return {**found, "appProtocol": port["appProtocol"]} if port.get("appProtocol") else found


def _convert(address: Plain, *, is_ready: bool) -> Plain | None:
    """Convert an address to an endpoint; None if it is not an IP."""
    ip = _normalize(text(address, "ip"))
    if ip is None:
        return None
    endpoint: Plain = {"addresses": [ip], "conditions": {"ready": is_ready}}
    for name in ("hostname", "nodeName", "targetRef"):
        if address.get(name):
            endpoint[name] = address[name]
    return endpoint


def _normalize(ip: str) -> str | None:
    """Return an IP in its canonical form; old objects may have leading zeros."""
    if "." in ip and ":" not in ip:
        ip = ".".join(number.lstrip("0") or number[-1:] for number in ip.split("."))
    try:
        parsed = ip_address(ip)
    except ValueError:
        return None
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _without_duplicates(wanted: WantedSlice) -> WantedSlice:
    last = {_identity(endpoint): endpoint for endpoint in wanted.endpoints}
    wanted.endpoints = list(last.values())[:MAX_MIRRORED]
    return wanted


def _identity(endpoint: Plain) -> tuple[str, str, str, str]:
    target = part(endpoint, "targetRef")
    return endpoint["addresses"][0], text(endpoint, "hostname"), text(target, "namespace"), text(target, "name")


def are_equal(endpoints: Iterable[Plain], others: Iterable[Plain]) -> bool:
    """Tell whether two slices have the same endpoints, in any order, with any resourceVersion of their targets."""
    return sorted(map(_comparable, endpoints)) == sorted(map(_comparable, others))


def _comparable(endpoint: Plain) -> bytes:
    target = {name: value for name, value in part(endpoint, "targetRef").items() if name != "resourceVersion"}
    return _encode({**endpoint, "targetRef": target})


class MirrorPlan(NamedTuple):
    """The next writes of slices.

    Attributes:
        create: New slices.
        keep: Wanted slices by the name of the stored slice to update.
        delete: The names of surplus slices.
    """

    create: list[WantedSlice]
    keep: dict[str, WantedSlice]
    delete: list[str]


def plan_mirrors(stored: Mapping[str, Plain], wanted: Iterable[WantedSlice]) -> MirrorPlan:
    """Assign stored slices to wanted ones: by equal ports first, then by address type.

    Args:
        stored: The stored slices by name.
        wanted: The slices that the Endpoints call for.
    """
    free = {name: WantedSlice(text(stored[name], "addressType"), items(stored[name], "ports")) for name in stored}
    plan = MirrorPlan([], {}, [])
    missing: list[WantedSlice] = []
    for slice_ in wanted:
        name = next((name for name in free if free[name].key == slice_.key), None)
        if name is None:
            missing.append(slice_)
        else:
            plan.keep[name] = slice_
            del free[name]
    for slice_ in missing:
        name = next((name for name in free if free[name].address_type == slice_.address_type), None)
        if name is None:
            plan.create.append(slice_)
        else:
            plan.keep[name] = slice_
            del free[name]
    plan.delete.extend(free)
    return plan


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value, order="sorted")
