"""What happened, as lines."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_KEPT: Final = 200


class EventLog:
    """Prints lines with the seconds since the start, or collects them for a view.

    Faults report nothing themselves, so new ones are printed before every line: the consequences of a fault never
    appear above it.

    Threads: may be called from any thread.

    Args:
        is_printed: Whether lines are printed, or only collected.

    Attributes:
        faults: Returns the names of new faults.
        lines: The last lines.
        is_broken: Whether the reader of the printed lines has closed its end.
    """

    def __init__(self, *, is_printed: bool = True) -> None:
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._is_printed = is_printed
        self.faults: Callable[[], Iterable[str]] = list
        self.lines: deque[str] = deque(maxlen=_KEPT)
        self.is_broken = False

    def __call__(self, text: str) -> None:
        """Add a line."""
        # Under one lock, so that no other line separates faults from their consequence.
        with self._lock:
            for fault in self.faults():
                self._write(f"x {fault}")
            self._write(text)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def _write(self, text: str) -> None:
        line = f"{self.seconds:5.1f} s  {text}"
        self.lines.append(line)
        if self._is_printed and not self.is_broken:
            # Handlers log in threads of their own: what ends the demo is raised in the main one.
            try:
                write_line(line)
            except BrokenPipeError:
                self.is_broken = True


def write_line(text: str) -> None:
    """Write a line, in one piece."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
