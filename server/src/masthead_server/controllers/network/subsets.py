"""The canonical form of Endpoints subsets: ports with the same addresses share a subset."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["repack_subsets"]

_AddressKey: TypeAlias = tuple[str, str]
"""IP and uid of the target: pods on the host network share the IP of their node."""


def repack_subsets(subsets: Iterable[Plain]) -> list[Plain]:
    """Group ports by their addresses; an address that is not ready in one subset is not ready for that port in all."""
    known: dict[_AddressKey, Plain] = {}
    by_port: dict[bytes, tuple[Plain | None, dict[_AddressKey, bool]]] = {}
    for subset in subsets:
        # None stands for the ports of a subset without ports, whose addresses still count.
        ports: list[Plain | None] = [*items(subset, "ports")] or [None]
        for port in ports:
            _, states = by_port.setdefault(msgspec.json.encode(port, order="sorted"), (port, {}))
            for name, is_ready in (("addresses", True), ("notReadyAddresses", False)):
                for address in items(subset, name):
                    key = text(address, "ip"), text(part(address, "targetRef"), "uid")
                    known.setdefault(key, address)
                    states[key] = is_ready and states.get(key, True)
    groups: dict[frozenset[tuple[_AddressKey, bool]], list[Plain]] = {}
    for port, states in by_port.values():
        ports_of_group = groups.setdefault(frozenset(states.items()), [])
        if port is not None:
            ports_of_group.append(port)
    return [_make_subset(ports, sorted(states), known) for states, ports in groups.items()]


def _make_subset(ports: list[Plain], states: list[tuple[_AddressKey, bool]], known: dict[_AddressKey, Plain]) -> Plain:
    subset: Plain = {}
    for name, wanted in (("addresses", True), ("notReadyAddresses", False)):
        addresses = [known[key] for key, is_ready in states if is_ready == wanted]
        if addresses:
            subset[name] = addresses
    if ports:
        subset["ports"] = ports
    return subset
