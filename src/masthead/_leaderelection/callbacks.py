"""Calls users' functions, one after the other and isolated from the election."""

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
    """Calls functions in a task of its own, in order. What they raise is logged; coroutines are awaited."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._queue: deque[tuple[str, Callable[[], object]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, name: str, call: Callable[[], object]) -> None:
        """Have a function called soon; on the event loop only."""
        if len(self._queue) >= _MAX_QUEUED:
            _log.error("%s: %s is not called: %d callbacks wait already", self._title, name, _MAX_QUEUED)
            return
        self._queue.append((name, call))
        if self._task is None or self._task.done():
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._run(), name=f"callbacks of {self._title}")

    async def drain(self, timeout: float) -> None:
        """Wait until all have returned; those that take too long are cancelled."""
        if self._task is None or self._task.done():
            return
        try:
            await asyncio.wait({self._task}, timeout=timeout)
        finally:
            if not self._task.done():
                _log.error("%s: a callback has not returned after %g s; it is cancelled", self._title, timeout)
                self._queue.clear()
                self._task.cancel()

    async def _run(self) -> None:
        while self._queue:
            name, call = self._queue.popleft()
            try:
                result = call()
                if inspect.isawaitable(result):
                    await result
            except Exception:  # noqa: BLE001 - a callback's own fault must not end the election
                _log.exception("%s: %s failed", self._title, name)
