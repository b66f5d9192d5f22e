"""Waiting for a cache to come further."""

from __future__ import annotations

import asyncio

__all__ = ["Progress"]


class Progress:
    """Wakes whoever waits, each time that something has changed. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    async def next(self) -> None:
        """Wait for the next change."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future

    def made(self) -> None:
        """Something has changed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
