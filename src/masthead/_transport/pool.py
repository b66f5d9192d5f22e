"""The connections of one transport: those in use, those that wait for a use, and who waits for them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    import ssl

    from masthead._transport.connection import Connection

__all__ = ["ConnectionPool"]


class ConnectionPool:
    """Keeps connections, and sees to it that there are not too many.

    Whoever wants a connection takes one that is idle, or else enters and makes one. Where all that may be are in use,
    they wait in line. The one that was used last is used first, so that those that are not needed grow old and go.
    Streams do not count: they last for hours, and calls would wait for them in vain.

    Args:
        loop: Whose it is.
        limit: How many connections may be in use at once, streams aside; 0 for any number.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._limit = limit
        self._in_use = 0
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._line: deque[asyncio.Future[None]] = deque()
        self._context: ssl.SSLContext | None = None

    @property
    def is_full(self) -> bool:
        """Whether no connection can be had without waiting."""
        return 0 < self._limit <= self._in_use

    def take(self, context: ssl.SSLContext | None, *, counts: bool = True) -> Connection | None:
        """An idle connection that was made with these TLS settings; None if there is none, or others come first.

        Idle connections with other settings are closed: nobody will want them again.
        """
        if counts and self.is_full:
            return None
        found = self._pick(context, counts=counts)
        if found is not None and counts:
            self._in_use += 1
        return found

    async def enter(
        self, context: ssl.SSLContext | None, *, anew: bool, counts: bool = True
    ) -> Connection | None:
        """Wait until there may be one connection more in use.

        Args:
            context: With which TLS settings.
            anew: Whether it may not be one that was used before.
            counts: Whether it is one of those of which there may be so many; a stream is not.

        Returns:
            One that has become idle meanwhile; None where the caller is to make one. In both cases it counts as in use
            until `done`, or `leave`, is called.
        """
        if counts:
            if self.is_full:
                await self._queue()
            else:
                self._in_use += 1
        if not anew:
            return self._pick(context, counts=counts)
        if self._idle and 0 < self._limit < self._in_use + len(self._idle):
            self._idle.pop(0).abort()
        return None

    def add(self, connection: Connection) -> None:
        """Whoever entered has made a connection."""
        if connection.is_open:
            self._open.add(connection)

    def leave(self) -> None:
        """One connection less is in use: the next in line may enter."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._in_use -= 1

    def close(self) -> None:
        """Close all connections, whatever they are doing."""
        for each in list(self._open):
            each.close()

    # -- What connections tell -----------------------------------------------------------------------------

    def done(self, connection: Connection) -> None:
        """An exchange is over."""
        if connection.is_open:
            if connection.context is self._context:
                self._idle.append(connection)
            else:
                connection.abort()
        if connection.is_counted:
            self.leave()

    def gone(self, connection: Connection) -> None:
        """A connection is closed."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _pick(self, context: ssl.SSLContext | None, *, counts: bool) -> Connection | None:
        if context is not self._context:
            self._context = context
            while self._idle:
                self._idle.pop().abort()
        while self._idle:
            found = self._idle.pop()
            if found.is_quiet():
                found.is_counted = counts
                return found
            found.abort()  # whatever came, it would pass for the response, or it was the end
        return None

    async def _queue(self) -> None:
        turn: asyncio.Future[None] = self._loop.create_future()
        self._line.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # it came, but too late
                self.leave()
            elif turn in self._line:
                self._line.remove(turn)
            raise
