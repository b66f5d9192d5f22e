"""Waiting for a store or a handler to make progress."""

from __future__ import annotations

import asyncio

__all__ = ["Progress"]


class Progress:
    """Wakes everyone who waits, each time that something has changed. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def next(self) -> None:
        """Wait for the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)  # also after a timeout, in case that nothing ever changes again

    def notify(self) -> None:
        """Wake everyone who waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            # A waiter that was cancelled is done, and set_result() would raise.
            if not future.done():
                future.set_result(None)
