"""Daemon threads for calls that may hang: they do not delay the exit of the process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._meta.daemon_executor import DaemonExecutor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DAEMON_THREADS", "BusyError", "ThreadSlot"]

_MAX_WAITING: Final = 5

T = TypeVar("T")


DAEMON_THREADS: Final = DaemonExecutor("masthead-probe", "check")
"""Used instead of the loop's executor, whose threads are for reconciles, and delay the exit of the interpreter."""


class BusyError(Exception):
    """The thread still runs an abandoned call, or too many callers wait for it."""


class ThreadSlot:
    """Runs functions in threads, one at a time. A function that hangs blocks one thread and few callers."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._running: asyncio.Future[object] | None = None

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function in a thread, after the calls before it.

        Raises:
            BusyError: If the thread still runs a call of a cancelled caller, or too many callers wait for it.
        """
        if self._waiting >= _MAX_WAITING:
            raise BusyError
        self._waiting += 1
        try:
            async with self._lock:
                if self._running is not None and not self._running.done():
                    raise BusyError
                future = asyncio.get_running_loop().run_in_executor(DAEMON_THREADS, function)
                self._running = future  # type: ignore[assignment]
                return await asyncio.shield(future)
        finally:
            self._waiting -= 1
