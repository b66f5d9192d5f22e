"""Threads for work that may hang: they do not keep the process from exiting, and one place runs one at a time."""

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
"""Not the loop's own executor: its threads belong to reconciles, and the interpreter waits for them at exit."""


class BusyError(Exception):
    """Too many wait for the thread, or it has not returned from a call whose caller has given up."""


class ThreadSlot:
    """Runs functions in threads, one after the other; a function that hangs costs one thread, and few wait for it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._running: asyncio.Future[object] | None = None

    async def run(self, function: Callable[[], T]) -> T:
        """Run a function in a thread when it is free.

        Raises:
            BusyError: If the thread still runs an earlier call, whose caller was cancelled, or too many wait for it.
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
