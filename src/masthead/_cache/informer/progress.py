"""Waiting for a store or a handler to make progress."""

from __future__ import annotations

import asyncio

__all__ = ["Progress"]


class Progress:
    """Wakes all waiters after every change. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def next(self) -> None:
        """Wait for the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            # Also after a timeout: there may never be another change that would remove it.
            self._waiting.discard(future)

    def notify(self) -> None:
        """Wake all waiters."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            # A waiter that was cancelled is done, and set_result() would raise.
            if not future.done():
                future.set_result(None)
