"""Numbers as Go prints them."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

__all__ = ["go_float", "go_json_float", "json_number"]

_PLAIN_JSON: Final = 21
_PLAIN_TEXT: Final = 6
"""From these powers of ten on, Go writes numbers with an exponent: in JSON, and in other text."""


def go_float(value: float) -> str:
    """Return a number with as few digits as identify it, and with an exponent if it is very large or small."""
    return _write_number(value, smallest=-4, largest=_PLAIN_TEXT, exponent_digits=2)


def go_json_float(value: float) -> str:
    """Format a number as Go's JSON encoder does."""
    return _write_number(value, smallest=-6, largest=_PLAIN_JSON, exponent_digits=1)


def _write_number(value: float, *, smallest: int, largest: int, exponent_digits: int) -> str:
    # repr has the shortest digits that read back as the same number, as Go's format does.
    exact = Decimal(repr(value)).normalize()
    sign, digits, exponent = exact.as_tuple()
    if not isinstance(exponent, int):
        return {"F": "-Inf" if sign else "+Inf"}.get(exponent, "NaN")
    power = len(digits) + exponent - 1
    if smallest <= power < largest or not exact:
        return format(exact, "f")
    first, *others = digits
    fraction = f".{''.join(map(str, others))}" if others else ""
    # Go's JSON has its sign of the exponent always, and leading zeros of it never.
    shown = f"{'-' if power < 0 else '+'}{abs(power):0{exponent_digits}d}"
    return f"{'-' if sign else ''}{first}{fraction}e{shown}"


def json_number(value: float) -> int | float:
    """Return a number that JSON shows as Go does: whole ones without a fraction."""
    try:
        number = float(value)
    except OverflowError:
        return value
    # JSON of Go writes a whole float without a fraction.
    return int(number) if number.is_integer() and abs(number) < 10**_PLAIN_JSON else number
