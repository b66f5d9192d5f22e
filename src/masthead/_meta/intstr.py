"""IntOrString fields: a port number or name, a count or a percentage."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from masthead.errors import ArgumentError

IntOrString: TypeAlias = int | str
"""The value of such a field, as in JSON."""

_DECIMAL: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")


def parse_int_or_string(text: str) -> IntOrString:
    """Return an int if the text is a 32-bit number, else the text itself.

    This is how ``kubectl`` parses ``--target-port``: ``8080`` is a number, ``http`` and ``25%`` stay text.
    """
    number = _parse_int(text, bits=32)
    return text if number is None else number


def scaled_value(value: IntOrString, total: int, *, round_up: bool) -> int:
    """Return a count unchanged, and a percentage as its share of the total.

    Args:
        value: A count such as 3, or a percentage such as ``25%``.
        total: The total that a percentage refers to.
        round_up: Whether a fractional share is rounded up or down.

    Raises:
        ArgumentError: If the value is neither an int nor a whole number with a percent sign.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percentage = _parse_percentage(value)
    # differs from client-go: the share is exact; client-go uses a float, which is inexact for huge totals.
    share = percentage * total
    return -(-share // 100) if round_up else share // 100


def _parse_percentage(value: object) -> int:
    if isinstance(value, str) and value.endswith("%"):
        percentage = _parse_int(value.removesuffix("%"), bits=64)
        if percentage is not None:
            return percentage
    shown = repr(value)[:60]
    raise ArgumentError(
        f"{shown} is neither a count nor a percentage. Give an int such as 3, or text such as '25%'.",
        value=value,
    )


def _parse_int(text: str, *, bits: int) -> int | None:
    """Parse a decimal 32-bit number; None if it is not one."""
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return None
    number = int(match[1] + match[2])
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None
