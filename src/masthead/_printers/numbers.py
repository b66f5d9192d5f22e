"""Numbers as Go prints them."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

__all__ = ["go_float", "json_number"]

_PLAIN_JSON: Final = 21
_PLAIN_TEXT: Final = 6
"""From these powers of ten on, Go writes numbers with an exponent: in JSON, and in other text."""


def go_float(value: float) -> str:
    """Return a number with as few digits as identify it, and with an exponent if it is very large or small."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(exponent, int):
        return {"F": "-Inf" if sign else "+Inf"}.get(exponent, "NaN")
    power = len(digits) + exponent - 1
    if -5 < power < _PLAIN_TEXT:
        return format(Decimal(repr(value)).normalize(), "f")
    first, *others = digits
    fraction = f".{''.join(map(str, others))}" if others else ""
    return f"{'-' if sign else ''}{first}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"


def json_number(value: float) -> int | float:
    """Return a number that JSON shows as Go does: whole ones without a fraction."""
    try:
        number = float(value)
    except OverflowError:
        return value
    return int(number) if number.is_integer() and abs(number) < 10**_PLAIN_JSON else number
