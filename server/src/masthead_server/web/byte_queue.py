"""A bounded queue of bytes between a receiver and one reader."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QUEUE_LIMIT", "ByteQueue"]

QUEUE_LIMIT: Final = 256 * 1024
"""Queued bytes above which the sender is held back."""


class ByteQueue:
    """Pieces of bytes in order, handed on as they are. One coroutine reads.

    Args:
        on_read: Called with the number of bytes that were taken out or dropped.
    """

    def __init__(self, on_read: Callable[[int], object]) -> None:
        self._pieces: deque[bytes | memoryview] = deque()
        self._on_read = on_read
        self._has_ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self.size = 0
        """The bytes that are queued."""

    @property
    def is_full(self) -> bool:
        """Whether the sender should wait."""
        return self.size >= QUEUE_LIMIT

    def feed(self, piece: bytes | memoryview) -> bool:
        """Add a piece; after the end it is dropped. Returns whether it was added."""
        if self._has_ended:
            return False
        self._pieces.append(piece)
        self.size += len(piece)
        self._wake()
        return True

    def end(self, error: Exception | None = None) -> None:
        """End the queue; the reader gets the queued bytes, then the error, if any."""
        if not self._has_ended:
            self._has_ended = True
            self._error = error
            self._wake()

    def clear(self, error: Exception | None = None) -> None:
        """Drop queued and further bytes; the reader gets the error, if any, or the end."""
        dropped, self.size = self.size, 0
        self._pieces.clear()
        self.end(error)
        self._on_read(dropped)

    async def read(self) -> bytes | memoryview:
        """Take the next piece; empty at the end.

        Raises:
            Exception: What `end` was given.
        """
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._has_ended:
                return b""
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        piece = self._pieces.popleft()
        self.size -= len(piece)
        self._on_read(len(piece))
        return piece

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)
