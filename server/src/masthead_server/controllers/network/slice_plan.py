"""Plans for the slices of a Service: stored slices keep their endpoints, gaps are filled, unneeded slices reused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from masthead_server.controllers.network.service_pods import HEADLESS
from masthead_server.wire.plain import Plain, items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "MANAGED_BY",
    "SERVICE_NAME",
    "PlannedSlice",
    "PortGroup",
    "SlicePlan",
    "StoredSlice",
    "plan_slices",
    "port_key",
    "slice_of",
]

MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME: Final = "kubernetes.io/service-name"
_RESERVED: Final = frozenset({HEADLESS, MANAGED_BY, SERVICE_NAME})
_MAX_ENDPOINTS: Final = 100


@dataclass(frozen=True, slots=True)
class PortGroup:
    """Endpoints with the same ports.

    Attributes:
        ports: The ports.
        endpoints: The endpoints; empty if the pods have no address or no node.
    """

    ports: list[Plain]
    endpoints: list[Plain] = field(default_factory=list[Plain])


@dataclass(frozen=True, slots=True)
class StoredSlice:
    """A stored slice of the Service.

    Attributes:
        name: Its name.
        ports: Its ports.
        endpoints: Its endpoints.
        labels: Its labels.
    """

    name: str
    ports: list[Plain]
    endpoints: list[Plain]
    labels: Mapping[str, str]


@dataclass(slots=True)
class PlannedSlice:
    """A slice to write.

    Attributes:
        ports: Its ports.
        endpoints: Its endpoints.
        name: The stored slice that it updates or replaces; empty for a new one.
        is_replaced: Whether the new slice also drops the annotations of the stored one.
    """

    ports: list[Plain]
    endpoints: list[Plain]
    name: str = ""
    is_replaced: bool = False


@dataclass(slots=True)
class SlicePlan:
    """The writes that bring the slices of a Service up to date.

    Attributes:
        write: New and changed slices.
        delete: The names of surplus slices.
        unchanged: The slices that need no write.
    """

    write: list[PlannedSlice] = field(default_factory=list[PlannedSlice])
    delete: list[str] = field(default_factory=list[str])
    unchanged: list[StoredSlice] = field(default_factory=list[StoredSlice])


def plan_slices(stored: Iterable[StoredSlice], wanted: Iterable[PortGroup], labels: Mapping[str, str]) -> SlicePlan:
    """Plan the slices of one address type.

    Args:
        stored: The stored slices.
        wanted: The endpoints of the Service's pods, by port.
        labels: The labels of the slices.
    """
    plan = SlicePlan()
    by_ports: dict[bytes, list[StoredSlice]] = {}
    for present in stored:
        by_ports.setdefault(port_key(present.ports), []).append(present)
    total = sum(map(len, by_ports.values()))
    for group in wanted:
        _plan_group(plan, by_ports.pop(port_key(group.ports), []), group, labels)
    unneeded = [present for slices in by_ports.values() for present in slices]
    names = [*plan.delete, *(present.name for present in unneeded)]
    # One empty slice tells clients that the controller has seen a Service without endpoints.
    if len(names) == total and not any(not planned.name for planned in plan.write):
        if len(names) == 1 and unneeded and _is_placeholder(unneeded[0], labels):
            plan.unchanged.append(unneeded[0])
            return plan
        plan.write.append(PlannedSlice([], []))
    plan.delete = _reuse(plan, names)
    return plan


def _plan_group(plan: SlicePlan, present: list[StoredSlice], group: PortGroup, labels: Mapping[str, str]) -> None:
    missing = {_identity(endpoint): endpoint for endpoint in group.endpoints}
    updated: list[PlannedSlice] = []
    unchanged: dict[str, StoredSlice] = {}
    for found in present:
        known = (_identity(endpoint) for endpoint in found.endpoints)
        kept = [missing.pop(identity) for identity in known if identity in missing]
        if list(map(_comparable, kept)) != list(map(_comparable, found.endpoints)):
            if kept:
                updated.append(PlannedSlice(found.ports, kept, found.name))
            else:
                plan.delete.append(found.name)
        elif _own_labels(found.labels) != _own_labels(labels):
            updated.append(PlannedSlice(found.ports, kept, found.name))
        else:
            unchanged[found.name] = found
    left = list(missing.values())
    # Slices that change anyway take new endpoints first, the fullest before the others: fewest writes.
    for planned in sorted(updated, key=lambda planned: -len(planned.endpoints)):
        left = _fill(planned, left)
    while left:
        target = _find_room(unchanged.values(), len(left))
        if target is None:
            planned = PlannedSlice(group.ports, [])
        else:
            del unchanged[target.name]
            planned = PlannedSlice(target.ports, list(target.endpoints), target.name)
        left = _fill(planned, left)
        updated.append(planned)
    plan.write += updated
    plan.unchanged += unchanged.values()


def _fill(planned: PlannedSlice, endpoints: list[Plain]) -> list[Plain]:
    """Add endpoints to a slice; return the rest."""
    room = _MAX_ENDPOINTS - len(planned.endpoints)
    planned.endpoints += endpoints[:room]
    return endpoints[room:]


def _find_room(unchanged: Iterable[StoredSlice], count: int) -> StoredSlice | None:
    """Return the fullest slice that has room for ``count`` more endpoints; None if none has."""
    fitting = [found for found in unchanged if len(found.endpoints) + count <= _MAX_ENDPOINTS]
    return max(fitting, key=lambda found: len(found.endpoints), default=None) if count < _MAX_ENDPOINTS else None


def _is_placeholder(present: StoredSlice, labels: Mapping[str, str]) -> bool:
    return not present.endpoints and not present.ports and dict(present.labels) == dict(labels)


def _reuse(plan: SlicePlan, unneeded: list[str]) -> list[str]:
    """Replace surplus slices by new ones; return the names of the slices to delete."""
    names = list(unneeded)
    for planned in reversed(plan.write):
        if names and not planned.name:
            planned.name, planned.is_replaced = names.pop(0), True
    return names


def _own_labels(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _RESERVED}


def _identity(endpoint: Plain) -> tuple[str, ...]:
    target = part(endpoint, "targetRef")
    hostname, namespace, name = text(endpoint, "hostname"), text(target, "namespace"), text(target, "name")
    return (hostname, namespace, name, *sorted(endpoint["addresses"]))


def _comparable(endpoint: Plain) -> Plain:
    # Hints are set after the plan, and the resourceVersion of a target makes no difference.
    found = {name: value for name, value in endpoint.items() if name != "hints"}
    target = {name: value for name, value in part(endpoint, "targetRef").items() if name != "resourceVersion"}
    return {**found, "targetRef": target}


def port_key(ports: Iterable[Plain]) -> bytes:
    """Return a key for a set of ports, independent of their order."""
    return b",".join(sorted(msgspec.json.encode(port, order="sorted") for port in ports))


def slice_of(content: Plain) -> StoredSlice:
    """Read a stored slice."""
    meta = part(content, "metadata")
    return StoredSlice(text(meta, "name"), items(content, "ports"), items(content, "endpoints"), part(meta, "labels"))
