"""The body of a request, as it arrives."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead_server.web.connection import HttpConnection

__all__ = ["RequestBody"]

_PAUSE_ABOVE: Final = 128 * 1024
"""Bytes that may wait for the handler before the client is held back."""
_DISCARD_SECONDS: Final = 10.0
"""Time for the rest of a body that no handler reads."""
_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class RequestBody:
    """Buffers unread pieces for one reader, and pauses the client when they pile up.

    Args:
        connection: Where it comes from.
        expects_continue: Whether the client waits for permission to send it.

    Attributes:
        is_complete: Whether all of it has arrived.
        expects_continue: Whether the client still waits for permission to send it.
    """

    __slots__ = (
        "_connection",
        "_error",
        "_has_reader",
        "_is_discarded",
        "_is_paused",
        "_pieces",
        "_size",
        "_waiter",
        "expects_continue",
        "is_complete",
    )

    def __init__(self, connection: HttpConnection, *, expects_continue: bool) -> None:
        self.is_complete = False
        self.expects_continue = expects_continue
        self._connection = connection
        self._pieces: list[bytes] = []
        self._size = 0
        self._error: Exception | None = None
        self._has_reader = False
        self._is_discarded = False
        self._is_paused = False
        self._waiter: asyncio.Future[None] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the pieces; permission to send the body is given first.

        Raises:
            Exception: What `fail` was given.
        """
        self._has_reader = True
        # A body that came with its head needs no permission.
        if self.expects_continue and not self.is_complete:
            self._connection.write(_CONTINUE)
        self.expects_continue = False
        while True:
            if self._error is not None:
                raise self._error
            if self._pieces:
                piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
                self._drop()
                yield piece
            elif self.is_complete:
                return
            else:
                await self._wait()

    async def wait_complete(self) -> None:
        """Drop all that arrives until the body is complete.

        Raises:
            ConnectionError: If that takes too long.
            Exception: What `fail` was given.
        """
        self._is_discarded = True
        self._drop()
        try:
            async with asyncio.timeout(_DISCARD_SECONDS):
                while not self.is_complete:
                    if self._error is not None:
                        raise self._error
                    await self._wait()
        except TimeoutError:
            raise ConnectionResetError("the body of the request takes too long") from None

    def discard_unread(self) -> None:
        """Drop all that arrives, unless a handler reads it."""
        # A body that piles up pauses the client, and the end of a paused connection goes unnoticed.
        if not self._has_reader:
            self._is_discarded = True
            self._drop()

    def feed(self, piece: bytes) -> None:
        """Take bytes that have arrived."""
        if self._is_discarded or self._error is not None:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _PAUSE_ABOVE and not self._is_paused:
            self._is_paused = True
            self._connection.pause_reading()
        self._wake()

    def end(self) -> None:
        """All of it has arrived."""
        self.is_complete = True
        self._wake()

    def fail(self, error: Exception) -> None:
        """Give up: the reader gets this error."""
        # The first error is the cause of further ones.
        if not self.is_complete and self._error is None:
            self._error = error
            self._drop()
            self._wake()

    def _drop(self) -> None:
        self._pieces.clear()
        self._size = 0
        if self._is_paused:
            self._is_paused = False
            self._connection.resume_reading()

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
