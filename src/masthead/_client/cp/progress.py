"""How far a copy is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from masthead._module import set_module

__all__ = ["CopyCounter", "CopyProgress", "ProgressCallback", "Reporter"]

_INTERVAL: Final = 0.1
"""Seconds between two calls of a callback."""


@set_module("masthead.streams")
@dataclass(frozen=True, slots=True)
class CopyProgress:
    """How far a copy is.

    Attributes:
        path: The path of the current file, relative to the copied directory.
        bytes_done: How many bytes of files were copied.
        bytes_total: How many there are in all; None if that is not known.
        files_done: How many files were copied.
    """

    path: str
    bytes_done: int
    bytes_total: int | None
    files_done: int


ProgressCallback: TypeAlias = Callable[[CopyProgress], object]
"""A function that is called with the progress of a copy."""


@dataclass(slots=True)
class CopyCounter:
    """Counts the copied bytes; see `CopyProgress`."""

    path: str = ""
    bytes_done: int = 0
    bytes_total: int | None = None
    files_done: int = 0


class Reporter:
    """Calls a callback now and then.

    Args:
        callback: The callback; None for no reports.
    """

    def __init__(self, callback: ProgressCallback | None) -> None:
        self._callback = callback
        self._next = 0.0

    def report(self, counter: CopyCounter, *, is_last: bool = False) -> None:
        """Call it, unless that was just done.

        Raises:
            Exception: Whatever the callback raises.
        """
        if self._callback is None:
            return
        now = asyncio.get_running_loop().time()
        if is_last or now >= self._next:
            self._next = now + _INTERVAL
            self._callback(CopyProgress(counter.path, counter.bytes_done, counter.bytes_total, counter.files_done))
