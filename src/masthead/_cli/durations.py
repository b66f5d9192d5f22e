"""Durations on the command line: seconds, or as Go and kubectl write them."""

from __future__ import annotations

import re

from masthead._meta import go_duration

__all__ = ["parse_duration"]


def parse_duration(text: str) -> float:
    """Return the seconds of ``90``, ``1.5s``, ``1m30s`` or ``2h``; a negative number means no limit.

    Raises:
        ValueError: If the text is not a duration.
    """
    # kubectl's options take a number without a unit, too; Go does not.
    if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text):
        return float(text)
    nanoseconds = go_duration.parse_duration(text)
    if nanoseconds is None:
        raise ValueError(f"{text!r} is not a duration; write 90, 90s, 1m30s or 2h")
    return nanoseconds / 1e9
