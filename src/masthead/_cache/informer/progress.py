"""Waiting for a store or a handler to make progress."""

from __future__ import annotations

import asyncio

__all__ = ["Progress"]


class Progress:
    """Wakes all waiters after every change. Belongs to one event loop."""

    def __init__(self) -> None:
        # In the order in which they have come, so that runs of a test are alike.
        self._waiting: dict[asyncio.Future[None], None] = {}

    async def next(self) -> None:
        """Wait for the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        try:
            await future
        finally:
            # Also after a timeout: there may never be another change that would remove it.
            self._waiting.pop(future, None)

    def notify(self) -> None:
        """Wake all waiters."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, {}
        for future in waiting:
            # A waiter that was cancelled is done, and set_result() would raise.
            if not future.done():
                future.set_result(None)
