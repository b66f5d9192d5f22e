"""Fields that hold a number or a text: a port's number or name, a count or a percentage."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from masthead.errors import InvalidValueError

IntOrString: TypeAlias = int | str
"""The value of such a field, as it stands in JSON."""

_DECIMAL: Final = re.compile(r"([+-]?)0*([0-9]{1,19})")


def parse_int_or_string(text: str) -> IntOrString:
    """Return the number when the text is one of 32 bits, else the text itself.

    This is how ``kubectl`` reads ``--target-port``: ``8080`` is a number, ``http`` and ``25%`` stay text.
    """
    number = _parse_int(text, bits=32)
    return text if number is None else number


def scaled_value(value: IntOrString, total: int, *, round_up: bool) -> int:
    """Return a count as it is, and a percentage as its share of the total.

    Args:
        value: A count such as 3, or a percentage such as ``25%``.
        total: What a percentage is taken of.
        round_up: Whether a share that is not whole becomes the next whole number above, or below.

    Raises:
        InvalidValueError: The value is neither an int nor a whole number with a percent sign.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percentage = _parse_percentage(value)
    # differs from client-go: the share is exact, where it goes through a float and is off for huge totals.
    share = percentage * total
    return -(-share // 100) if round_up else share // 100


def _parse_percentage(value: object) -> int:
    if isinstance(value, str) and value.endswith("%"):
        percentage = _parse_int(value.removesuffix("%"), bits=64)
        if percentage is not None:
            return percentage
    shown = repr(value)[:60]
    raise InvalidValueError(
        f"{shown} is neither a count nor a percentage. Give an int such as 3, or text such as '25%'.",
        value=value,
    )


def _parse_int(text: str, *, bits: int) -> int | None:
    """Return the number that the text writes in decimal, or None; also when it needs more bits."""
    match = _DECIMAL.fullmatch(text)
    if match is None:
        return None
    number = int(match[1] + match[2])
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None
