"""Calls of user functions: one after the other, and isolated from the election."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CallbackQueue"]

_log: Final = logging.getLogger("masthead.leaderelection")
_MAX_QUEUED: Final = 1000


class CallbackQueue:
    """Calls functions in order, in a separate task. Coroutines are awaited, and errors are logged."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._queue: deque[tuple[str, Callable[[], object]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, name: str, call: Callable[[], object]) -> None:
        """Call a function soon. Must be called on the event loop.

        A queue with 1,000 waiting calls drops further ones.
        """
        # A callback that hangs must not let the queue grow with every new leader.
        if len(self._queue) >= _MAX_QUEUED:
            _log.error("%s: %s is not called: %d callbacks wait already", self._title, name, _MAX_QUEUED)
            return
        # The task ends with the queue, so that an idle elector has none.
        self._queue.append((name, call))
        if self._task is None or self._task.done():
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._run(), name=f"callbacks of {self._title}")

    async def drain(self, timeout: float) -> None:
        """Wait for all calls to return, and cancel them after the timeout."""
        if self._task is None or self._task.done():
            return
        try:
            await asyncio.wait({self._task}, timeout=timeout)
        finally:
            if not self._task.done():
                _log.error("%s: a callback has not returned after %g s; it is cancelled", self._title, timeout)
                # Calls behind a hanging one are dropped with it.
                self._queue.clear()
                self._task.cancel()

    async def _run(self) -> None:
        while self._queue:
            name, call = self._queue.popleft()
            try:
                # A plain function may return an awaitable, too, such as a partial of a coroutine function.
                result = call()
                if inspect.isawaitable(result):
                    await result
            except Exception:  # noqa: BLE001 - a callback's own fault must not end the election
                _log.exception("%s: %s failed", self._title, name)
