"""Durations on the command line: seconds, or as Go and kubectl write them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parse_duration"]

_PART: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(ms|s|m|h)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float:
    """Return the seconds of ``90``, ``1.5s``, ``1m30s`` or ``2h``; below zero for "for ever".

    Raises:
        ValueError: If it is not a duration.
    """
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        return sign * float(rest)
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError(f"{text!r} is not a duration; write 90, 90s, 1m30s or 2h")
    return sign * sum(float(number) * _SECONDS[unit] for number, unit in parts)
