"""The order of ready keys in the work queues of controllers: first in, first out, unless a test asks for another."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._sansio import randomness

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KeyOrder", "key_order", "make_chooser"]

KeyOrder: TypeAlias = Literal["fifo", "lifo", "random"]
"""The order of ready keys with equal priority."""

key_order: Final[ContextVar[KeyOrder]] = ContextVar("masthead.key_order", default="fifo")
"""The order of a task, inherited by its child tasks. Queues read it when they are created."""


def make_chooser(order: KeyOrder) -> Callable[[int], int] | None:
    """Return a function that chooses one of a number of ready keys by its place; None for the first."""
    if order == "lifo":
        return lambda count: count - 1
    if order == "random":
        return lambda count: int(randomness.random() * count)
    return None
