"""Whole numbers as Go's strconv parses them, in linear time."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parse_int", "parse_uint"]

_INT: Final = re.compile(r"([+-]?)([0-9]++)")
_UINT: Final = re.compile(r"()([0-9]++)")
_MAX_DIGITS: Final = 20
"""Digits of the largest number of 64 bits."""


def parse_int(text: str) -> int:
    """Parse a signed 64-bit number.

    Raises:
        ValueError: If it is invalid; the message is Go's.
    """
    return _parse(_INT, text, range(-(2**63), 2**63))


def parse_uint(text: str) -> int:
    """Parse an unsigned 64-bit number.

    Raises:
        ValueError: If it is invalid; the message is Go's.
    """
    return _parse(_UINT, text, range(2**64))


def _parse(pattern: re.Pattern[str], text: str, known: range) -> int:
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError("invalid syntax")
    digits = match[2].lstrip("0") or "0"
    # Python's own parser takes quadratic time, and refuses more than 4,300 digits.
    if len(digits) > _MAX_DIGITS or (number := int(match[1] + digits)) not in known:
        raise ValueError("value out of range")
    return number
