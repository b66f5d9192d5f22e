"""How a pod is treated when its node runs short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead.meta.quantity import Quantity
from masthead.server.plain import items, part

if TYPE_CHECKING:
    from masthead.server.plain import Plain

_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: Plain) -> str:
    """Name the class of a pod: it follows from what its containers request and are limited to."""
    own = spec.get("resources")
    holders = [spec] if own else [*items(spec, "containers"), *items(spec, "initContainers")]
    requests = [_amounts(each, "requests") for each in holders]
    limits = [_amounts(each, "limits") for each in holders]
    if not any(requests) and not any(limits):
        return "BestEffort"
    guaranteed = all(len(each) == len(_COUNTED) for each in limits) and _total(requests) == _total(limits)
    return "Guaranteed" if guaranteed else "Burstable"


def _amounts(holder: Plain, side: str) -> dict[str, Quantity]:
    stated = part(part(holder, "resources"), side)
    amounts = {name: Quantity(stated[name]) for name in _COUNTED if stated.get(name) is not None}
    return {name: amount for name, amount in amounts.items() if amount.sign > 0}


def _total(each: list[dict[str, Quantity]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amounts in each:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount.nanos
    return total
