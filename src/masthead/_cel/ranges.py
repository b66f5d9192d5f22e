"""Ranges of sizes and costs. They end at the largest number of 64 bits."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

__all__ = ["MAX", "ONE", "UNKNOWN", "ZERO", "Range"]

MAX: Final = 2**64 - 1


class Range(NamedTuple):
    """From the smallest size or cost to the largest."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        """Add another range."""
        return Range(min(self.low + other.low, MAX), min(self.high + other.high, MAX))

    def times(self, other: Range) -> Range:
        """Multiply by another range."""
        return Range(min(self.low * other.low, MAX), min(self.high * other.high, MAX))

    def scaled(self, factor: float) -> Range:
        """Multiply by a factor, and round up."""
        return Range(_scale(self.low, factor), _scale(self.high, factor))

    def union(self, other: Range) -> Range:
        """Return the range that contains both."""
        return Range(min(self.low, other.low), max(self.high, other.high))


ZERO: Final = Range(0, 0)
ONE: Final = Range(1, 1)
UNKNOWN: Final = Range(0, MAX)


def _scale(number: int, factor: float) -> int:
    # As float64, as the server counts.
    product = float(number) * factor
    return MAX if product >= 2.0**64 else math.ceil(product)
