"""Detects a blocked event loop, and logs its stack: usually a reconciler with a blocking call.

A blocked loop renews no lease, answers no probe and logs nothing, so the watchdog needs a separate thread.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["Watchdog"]

_log: Final = logging.getLogger("masthead.controller")

BLOCKED_AFTER: Final = 1.0
"""Seconds without an iteration of the loop after which it counts as blocked."""
_TURNS: Final = 4
"""Number of checks in that time, because the loop may be blocked right after it answered one."""
_SHOWN: Final = 12
"""Number of logged stack frames."""


class Watchdog:
    """Watches the running event loop during a block: ``with Watchdog(...)``.

    A blocked loop is logged once with the stack of its thread, and once more when it continues.

    Args:
        describe: Describes the running reconciles, for the log; called in the watchdog's thread.
        limit: Seconds after which the loop counts as blocked.
    """

    def __init__(self, describe: Callable[[], str], *, limit: float = BLOCKED_AFTER) -> None:
        self._describe = describe
        self._limit = limit
        self._stopped = threading.Event()
        self._answered = threading.Event()

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        thread = threading.Thread(
            target=self._watch,
            args=(loop, threading.get_ident()),
            name="masthead watchdog",
            daemon=True,
        )
        thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped.set()
        # Wakes the thread, which may be waiting for the loop's answer.
        self._answered.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, loop_thread: int) -> None:
        while not self._stopped.wait(self._limit / _TURNS):
            self._answered.clear()
            try:
                loop.call_soon_threadsafe(self._answered.set)
            except RuntimeError:  # the loop is closed
                return
            if self._answered.wait(self._limit) or self._stopped.is_set():
                continue
            # The stack at the time of the report, which is usually still inside of the blocking call.
            frame = sys._current_frames().get(loop_thread)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            stack = "".join(traceback.format_stack(frame, _SHOWN)) if frame is not None else ""
            _log.error(
                "the event loop is blocked for more than %g s, while these are running: %s. Use `await`, or a plain "
                "function, which runs in a thread. It is at:\n%s",
                self._limit,
                self._describe(),
                stack,
            )
            # Without a limit: a block is reported once, however long it lasts.
            self._answered.wait()
            if not self._stopped.is_set():
                _log.warning("the event loop goes on")
