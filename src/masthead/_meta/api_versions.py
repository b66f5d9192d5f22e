"""The order of API versions."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["precedence"]

_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {"": 2, "beta": 1, "alpha": 0}


def precedence(version: str) -> tuple[int, int, int]:
    """Return the sort key of a version: stable ones are above beta and alpha, newer ones above older ones."""
    parsed = _VERSION.fullmatch(version)
    if parsed is None:
        return (-1, 0, 0)
    major, stability, minor = parsed.groups(default="")
    return (_STABILITY[stability], int(major), int(minor or 0))
