"""Durations as Go writes them, such as ``1h30m``."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["UNITS", "parse_duration"]

_MAX_NANOSECONDS: Final = 2**63 - 1
UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""The units of a duration, in nanoseconds; there are two signs for micro."""
_SPAN: Final = re.compile(r"(0*+)([0-9]{0,32})(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
"""Zeros, a number, its fraction and its unit."""


def parse_duration(text: str) -> int | None:
    """Parse a duration.

    Returns:
        The nanoseconds; None if the text is invalid, or does not fit into 64 bits.
    """
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    if not rest:
        return None
    nanos = at = 0
    while at < len(rest):
        match = _SPAN.match(rest, at)
        if match is None or not (match[1] or match[2] or match[3]):
            return None
        unit = UNITS[match[4]]
        nanos += int(match[2] or 0) * unit
        if match[3]:
            digits = match[3][:18]
            nanos += int(digits) * unit // 10 ** len(digits)
        at = match.end()
    if nanos > _MAX_NANOSECONDS + (sign < 0):
        return None
    return sign * nanos
