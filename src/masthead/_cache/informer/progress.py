"""Waiting for a cache to come further."""

from __future__ import annotations

import asyncio

__all__ = ["Progress"]


class Progress:
    """Wakes whoever waits, each time that something has changed. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def next(self) -> None:
        """Wait for the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)  # also of one who gave up, though nothing ever changes again

    def made(self) -> None:
        """Something has changed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)
