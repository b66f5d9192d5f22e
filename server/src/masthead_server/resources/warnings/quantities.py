"""Warnings about fractional amounts of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._meta.quantity import Quantity

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def fraction_warnings(path: str, amounts: Plain, name: str) -> list[str]:
    """Warn about an amount that is not a whole number of bytes."""
    value = amounts.get(name)
    # Most amounts can be seen to be whole; reading them all would cost more than all the rest.
    if not isinstance(value, str) or value.rstrip("KMGTPEik").isdecimal():
        return []
    amount = Quantity(value)
    if amount.milli_value() % 1000 == 0:
        return []
    return [f'{path}[{name}]: fractional byte value "{amount}" is invalid, must be an integer']


def claim_warnings(path: str, spec: Plain) -> list[str]:
    """Return the warnings about what a volume claim asks for."""
    found: list[str] = []
    resources: Plain = spec.get("resources") or {}
    for side in ("requests", "limits"):
        found += fraction_warnings(f"{path}.resources.{side}", resources.get(side) or {}, "storage")
    return found
