"""The wall clock of tasks: the system's, or the virtual one of a test."""

from __future__ import annotations

from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_wall_clock", "use_wall_clock"]

_clock: Final[ContextVar[Callable[[], datetime] | None]] = ContextVar("masthead.wall_clock", default=None)


def read_wall_clock() -> datetime:
    """Return the current time in UTC, on the clock of the task."""
    clock = _clock.get()
    return datetime.now(UTC) if clock is None else clock()


def use_wall_clock(clock: Callable[[], datetime]) -> None:
    """Set the clock of the current task, and of the tasks that it starts from now on."""
    _clock.set(clock)
