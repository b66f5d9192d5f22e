"""Splits long work into slices, so that an event loop can run other tasks between them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

__all__ = ["SLICE", "finish", "in_slices"]

S = TypeVar("S")

SLICE: Final = 250
"""Objects per slice: an index function that decodes an object takes 50 µs."""


def in_slices(items: Iterable[S], size: int = SLICE) -> Iterator[list[S]]:
    """Split items into lists of at most `size`."""
    remaining = iter(items)
    while part := list(islice(remaining, size)):
        yield part


def finish(steps: Generator[None, None, S]) -> S:
    """Run all steps of a generator without a pause; return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("S", end.value)
