"""Warnings about conflicting ports of containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quoting import quoted
from masthead_server.resources.warnings.headers import MAX_PAIRS
from masthead_server.wire.plain import items, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def port_warnings(containers: list[tuple[str, Plain]]) -> list[str]:
    """Return the warnings about the ports of containers, which come with their paths."""
    if _are_apart([port for _, container in containers for port in container.get("ports") or ()]):
        return []
    ports = [
        (f"{path}.ports[{index}]", port)
        for path, container in containers
        for index, port in enumerate(items(container, "ports"))
    ]
    return _number_warnings(ports) + _name_warnings(ports)


def _number_warnings(ports: list[tuple[str, Plain]]) -> list[str]:
    found: list[str] = []
    seen: dict[tuple[object, object], list[tuple[str, Plain]]] = {}
    compared = 0
    for path, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            found.append(f"{path}: hostIP set without hostPort: {_format_port(port)}")
        others = seen.setdefault((port.get("containerPort"), port.get("protocol", "TCP")), [])
        compared += len(others)
        # Pairs are limited, because thousands of equal ports would mean millions of comparisons.
        for at, other in others if compared < MAX_PAIRS else ():
            if relation := _relation(port, other):
                found.append(f"{path}: {relation} port definition with {at}")
        others.append((path, port))
    return found


def _are_apart(ports: list[Plain]) -> bool:
    """Tell at a glance that ports have nothing to do with each other, as nearly all have not."""
    numbers: set[object] = set()
    names: set[object] = set()
    for port in ports:
        numbers.add(port.get("containerPort"))
        # A port without a name counts as a port with a unique name.
        names.add(port.get("name") or id(port))
        if "hostIP" in port:
            return False
    return len(numbers) == len(names) == len(ports)


def _relation(port: Plain, other: Plain) -> str:
    """Name what two entries for one port do to each other; nothing if they get along."""
    number, number_of_other = port.get("hostPort") or 0, other.get("hostPort") or 0
    address, address_of_other = text(port, "hostIP"), text(other, "hostIP")
    if number == number_of_other and address == address_of_other:
        return "duplicate"
    if not number or not number_of_other:
        return "overlapping"
    if number == number_of_other and bool(address) != bool(address_of_other):
        return "dangerously ambiguous"
    return ""


def _name_warnings(ports: list[tuple[str, Plain]]) -> list[str]:
    found: list[str] = []
    seen: dict[str, str] = {}
    for path, port in ports:
        name = text(port, "name")
        if not name:
            continue
        first = seen.setdefault(name, path)
        if first != path:
            outcome = f"services and probes that select ports by name will use {first}"
            found.append(f"{path}: duplicate port name {quoted(name)} with {first}, {outcome}")
    return found


def _format_port(port: Plain) -> str:
    """Write a port as Go prints a struct."""
    return (
        f"{{Name:{text(port, 'name')} HostPort:{port.get('hostPort') or 0}"
        f" ContainerPort:{port.get('containerPort') or 0} Protocol:{port.get('protocol', 'TCP')}"
        f" HostIP:{text(port, 'hostIP')}}}"
    )
