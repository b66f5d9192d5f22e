"""The progress of an exploration: one line on a terminal, nothing elsewhere; and its end by Ctrl-C."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Final

from masthead._cli.terminal import is_live
from masthead.testing.exploration import StopExploration

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self

    from masthead.testing.exploration import ExplorationProgress

__all__ = ["ProgressLine"]

_INTERVAL: Final = 0.1
"""Seconds between two updates of the line."""
_CLEAR: Final = "\r\x1b[K"


class ProgressLine:
    """Shows the progress; to be used in ``with``.

    The first Ctrl-C asks the exploration to stop, the second one interrupts the process.

    Attributes:
        is_interrupted: Whether Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.is_interrupted: bool = False
        self._is_shown = is_live(sys.stderr)
        self._next = 0.0
        self._handler = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> Self:
        self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._handler)
        if self._is_shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()

    def update(self, progress: ExplorationProgress) -> None:
        """Show the progress.

        Raises:
            StopExploration: After Ctrl-C.
        """
        if self.is_interrupted:
            raise StopExploration
        now = time.monotonic()
        if self._is_shown and now >= self._next:
            self._next = now + _INTERVAL
            sys.stderr.write(f"{_CLEAR}{format_progress(progress)}")
            sys.stderr.flush()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.is_interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def format_progress(progress: ExplorationProgress) -> str:
    """Return the progress as a line."""
    findings = f"{progress.findings} finding{'' if progress.findings == 1 else 's'}"
    coverage = f"{progress.points} of {progress.candidates} fault points"
    return f"{progress.schedules} schedules, {coverage}, {findings}, {progress.seconds:.0f} s"
