"""What happens, as lines."""

from __future__ import annotations

import sys
import time


class EventLog:
    """Prints lines with the seconds since the start.

    Args:
        is_printed: Whether lines are printed, or dropped.
    """

    def __init__(self, *, is_printed: bool = True) -> None:
        self._start = time.monotonic()
        self._is_printed = is_printed

    def __call__(self, text: str) -> None:
        """Print a line.

        Raises:
            BrokenPipeError: If the reader has closed its end.
        """
        if self._is_printed:
            write_line(f"{self.seconds:5.1f} s  {text}")

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start


def write_line(text: str) -> None:
    """Write a line, in one piece.

    Raises:
        BrokenPipeError: If the reader has closed its end.
    """
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
