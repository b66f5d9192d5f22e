"""Threads for work that may hang: they do not keep the process from exiting, and one place runs one at a time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from masthead._controller.user_errors import raise_in_future

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DAEMON_THREADS", "BusyError", "ThreadSlot"]

_MAX_WAITING: Final = 5

P = ParamSpec("P")
T = TypeVar("T")


class _DaemonExecutor(Executor):
    """Runs each call in a daemon thread of its own; whoever submits bounds their number."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
                future.set_exception(raise_in_future(error, "check"))
            else:
                future.set_result(result)

        # Else a future that was cancelled meanwhile would raise where its result is set.
        future.set_running_or_notify_cancel()
        threading.Thread(target=run, name="masthead probe", daemon=True).start()
        return future


DAEMON_THREADS: Final = _DaemonExecutor()
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
