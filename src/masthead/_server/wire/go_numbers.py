"""Whole numbers as Go's strconv reads them, in a time that the length of the text bounds."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parse_int", "parse_uint"]

_INT: Final = re.compile(r"([+-]?)([0-9]++)")
_UINT: Final = re.compile(r"()([0-9]++)")
_MOST_DIGITS: Final = 20
"""Digits of the largest number of 64 bits."""


def parse_int(text: str) -> int:
    """Read a number of 64 bits with a sign.

    Raises:
        ValueError: It is invalid; the message says why, in Go's words.
    """
    return _parse(_INT, text, range(-(2**63), 2**63))


def parse_uint(text: str) -> int:
    """Read a number of 64 bits without a sign.

    Raises:
        ValueError: It is invalid; the message says why, in Go's words.
    """
    return _parse(_UINT, text, range(2**64))


def _parse(pattern: re.Pattern[str], text: str, known: range) -> int:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError("invalid syntax")
    digits = match[2].lstrip("0") or "0"
    # Python's own reading takes the square of the length, and refuses what is longer than 4,300 digits.
    if len(digits) > _MOST_DIGITS or (number := int(match[1] + digits)) not in known:
        raise ValueError("value out of range")
    return number
