"""Amounts of resources by name, such as the requests of a container, and their sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from masthead._meta.quantity import Quantity, parse_quantity
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

Amounts: TypeAlias = dict[str, Quantity]


def read_amounts(owner: Plain, name: str) -> Amounts:
    """Read a map of amounts; an absent one is empty."""
    return {resource: parse_quantity(text) for resource, text in part(owner, name).items()}


def write_amounts(amounts: Amounts) -> dict[str, str]:
    """Write a map of amounts as JSON, in the order of the names."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def add_amounts(total: Amounts, more: Amounts) -> None:
    """Add amounts to a total, in place."""
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def raise_amounts(total: Amounts, least: Amounts) -> None:
    """Raise each amount of a total to another one, in place, where that is larger."""
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity


def select_amounts(amounts: Amounts, names: frozenset[str] | dict[str, Quantity] | list[str]) -> Amounts:
    """Return the amounts with these names."""
    return {name: quantity for name, quantity in amounts.items() if name in names}
