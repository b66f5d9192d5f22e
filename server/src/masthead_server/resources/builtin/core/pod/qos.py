"""The QoS class of a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.validation.checks import amount
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: Plain) -> str:
    """Name the class of a pod: it follows from what its containers request and are limited to."""
    own = spec.get("resources")
    # Where a pod states resources for itself, those of its containers do not count.
    holders = [spec] if own else [*items(spec, "containers"), *items(spec, "initContainers")]
    resources = [part(holder, "resources") for holder in holders]
    requests = [_nanos(resource, "requests") for resource in resources]
    limits = [_nanos(resource, "limits") for resource in resources]
    if not any(map(any, requests)) and not any(map(any, limits)):
        return "BestEffort"
    guaranteed = all(map(all, limits)) and _total(requests) == _total(limits)
    return "Guaranteed" if guaranteed else "Burstable"


def _nanos(resources: Plain, side: str) -> list[int]:
    """The amounts of the resources that count; 0 if unset."""
    stated = part(resources, side)
    return [max(0, amount(stated.get(name)).nanos) for name in _COUNTED]


def _total(amounts: list[list[int]]) -> list[int]:
    return [sum(item) for item in zip(*amounts, strict=True)]
