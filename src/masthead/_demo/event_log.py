"""The log of the demo."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class EventLog:
    """Prints lines, each with the seconds since the start.

    Faults report nothing themselves, so new ones are printed before every line: the consequences of a fault never stand
    above it.

    Threads: may be called from any thread.

    Attributes:
        faults: Returns the names of new faults.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self.faults: Callable[[], Iterable[str]] = list

    def __call__(self, text: str) -> None:
        """Print a line."""
        with self._lock:
            for each in self.faults():
                self._write(f"x {each}")
            self._write(text)

    def _write(self, text: str) -> None:
        write_line(f"{time.monotonic() - self._start:5.1f} s  {text}")


def write_line(text: str) -> None:
    """Write a line, in one piece."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
