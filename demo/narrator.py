"""Who tells what happens, a line for each thing."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Narrator:
    """Prints lines, each behind the seconds since the beginning.

    Faults strike silently, so their names are asked for whenever there is something to tell, and told before it: what
    follows from a fault never stands above it.

    Threads: may be called from any.

    Attributes:
        faults: Names the faults that have struck since it was called last.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.faults: Callable[[], Iterable[str]] = list

    def __call__(self, text: str) -> None:
        """Tell something."""
        with self._lock:
            for each in self.faults():
                self._write(f"x {each}")
            self._write(text)

    def _write(self, text: str) -> None:
        write_line(f"{time.monotonic() - self._began:5.1f} s  {text}")


def write_line(text: str) -> None:
    """Write a line, in one piece."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
