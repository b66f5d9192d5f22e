"""SIGTERM and SIGINT: the first signal asks for a graceful stop, the second ends the process.

The handlers use Python's ``signal`` module instead of the event loop: they run between two bytecodes of the main
thread, so that a second Ctrl-C works even if a reconcile blocks the loop, and they work on Windows.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

__all__ = ["STOP_SIGNALS", "stop_on_signals"]

_log: Final = logging.getLogger("masthead.controller")

STOP_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
)
"""Signals that ask a process to stop; SIGBREAK is Ctrl-Break on Windows."""
_SAME_REQUEST: Final = 1.0
"""Seconds in which a second signal belongs to the same request: a terminal sends SIGINT to the whole process group, and
a parent process adds a SIGTERM."""


@contextmanager
def stop_on_signals(
    stop: Callable[[signal.Signals], object],
    *,
    kill: Callable[[signal.Signals], object] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[bool]:
    """Handle stop signals while the context is entered, on the running event loop.

    Yields whether signals are handled; outside of the main thread, Python does not support it.

    Args:
        stop: Called on the event loop after the first signal.
        kill: Called in the handler of the second signal; by default, it ends the process with ``128 + number``, without
            waiting for threads.
        clock: Returns the time in seconds.
    """
    # Python runs signal handlers in the main thread only, and rejects handlers from other threads.
    if threading.current_thread() is not threading.main_thread():
        _log.debug("signals are not handled: not in the main thread")
        yield False
        return
    handler = _SignalHandler(asyncio.get_running_loop(), stop, kill or _exit, clock)
    before = {number: signal.signal(number, handler) for number in STOP_SIGNALS}
    try:
        yield True
    finally:
        for number, previous in before.items():
            # None means a handler that was not installed from Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if previous is None else previous)


class _SignalHandler:
    """Distinguishes the first signal from the second."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stop: Callable[[signal.Signals], object],
        kill: Callable[[signal.Signals], object],
        clock: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._stop = stop
        self._kill = kill
        self._clock = clock
        self._first: tuple[int, float] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        found = signal.Signals(number)
        if self._first is None:
            self._first = number, self._clock()
            # The handler runs between two bytecodes, so the stop itself waits for the loop.
            self._loop.call_soon_threadsafe(self._request_stop, found)
            return
        first, at = self._first
        # The same signal again is a second request, even within the interval.
        if number == first or self._clock() - at >= _SAME_REQUEST:
            self._kill(found)

    def _request_stop(self, found: signal.Signals) -> None:
        _log.info("%s: stopping gracefully; send it again to stop at once", found.name)
        self._stop(found)


def _exit(number: signal.Signals) -> None:
    # Written directly, because the signal may have interrupted a logger that holds locks.
    os.write(2, f"masthead: second {number.name}: stopped at once\n".encode())
    # Not sys.exit, which waits for threads that may hang.
    os._exit(128 + number)
