"""Ctrl-C: the first one ends the story early, the second one ends the demo."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType
    from typing import Self


class Interrupts:
    """Notes SIGINT within its block. The second one raises KeyboardInterrupt.

    An exception of the first one could hit a restart of the server halfway.

    Attributes:
        is_interrupted: Whether there was one.
    """

    def __init__(self) -> None:
        self.is_interrupted = False
        self._is_installed = False
        self._before: object = None

    def __enter__(self) -> Self:
        # Signals belong to the main thread; a demo in another one cannot be interrupted.
        self._is_installed = threading.current_thread() is threading.main_thread()
        if self._is_installed:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        # A flag, and no event: its lock may be held by the code that the signal interrupts.
        if self.is_interrupted:
            raise KeyboardInterrupt
        self.is_interrupted = True
