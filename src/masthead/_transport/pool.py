"""The connection pool of a transport."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    import ssl

    from masthead._transport.connection import Connection

__all__ = ["ConnectionPool"]


class ConnectionPool:
    """Keeps idle connections, and limits the number in use.

    A caller takes an idle connection, or else enters and dials one. At the limit, callers wait in a FIFO
    queue. The most recently used connection is taken first, so that surplus ones reach their idle timeout.
    Streams do not count against the limit: they last for hours, and calls would wait for them in vain.

    Args:
        loop: Its event loop.
        limit: The maximum number of connections in use, streams not counted; 0 for no limit.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        self._loop = loop
        self._limit = limit
        self._in_use = 0
        self._idle: list[Connection] = []
        self._open: dict[Connection, None] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._context: ssl.SSLContext | None = None

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached."""
        return 0 < self._limit <= self._in_use

    def take(self, context: ssl.SSLContext | None, *, counts: bool = True) -> Connection | None:
        """Take an idle connection with this TLS context; None if none is idle, or the limit is reached.

        Idle connections with another context are closed: it is outdated.
        """
        if counts and 0 < self._limit <= self._in_use:
            return None
        found = self._pick(context, counts=counts)
        if found is not None and counts:
            self._in_use += 1
        return found

    async def enter(self, context: ssl.SSLContext | None, *, anew: bool, counts: bool = True) -> Connection | None:
        """Wait until the limit allows another connection in use.

        Args:
            context: The TLS context.
            anew: Whether the connection must be a new one.
            counts: Whether it counts against the limit; a stream does not.

        Returns:
            A connection that became idle during the wait; None if the caller must dial one. In both cases it
            counts as in use until `release` or `leave` is called.
        """
        if counts:
            if self.is_full:
                await self._queue()
            else:
                self._in_use += 1
        if not anew:
            return self._pick(context, counts=counts)
        # Make space for the new connection: the oldest idle one goes.
        if self._idle and 0 < self._limit < self._in_use + len(self._idle):
            self._idle.pop(0).abort()
        return None

    def add(self, connection: Connection) -> None:
        """Add a connection that a caller of `enter` has dialled."""
        if connection.is_open:
            self._open[connection] = None

    def leave(self) -> None:
        """Count one connection less in use, and let the next waiter enter."""
        while self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                # The place is handed over: as _in_use stays the same, no other request can take it in between.
                turn.set_result(None)
                return
        self._in_use -= 1

    def close(self) -> None:
        """Close all connections, even during exchanges."""
        for connection in list(self._open):
            connection.close()

    def release(self, connection: Connection) -> None:
        """Keep a connection whose exchange is over."""
        if connection.is_open:
            if connection.context is self._context:
                self._idle.append(connection)
            else:
                # The TLS context has been replaced since: the client certificate may be an old one.
                connection.abort()
        if not connection.is_counted:
            return
        if self._waiters:
            self.leave()
        else:
            self._in_use -= 1

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._open.pop(connection, None)
        if connection in self._idle:
            self._idle.remove(connection)

    def suspect(self) -> None:
        """Close idle connections, unless they have just been read from: whatever silenced another has hit them, too."""
        for connection in tuple(self._idle):
            if not connection.was_read_recently():
                connection.abort()

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
            found.abort()  # unsolicited bytes would be taken for the response, or the server has closed it
        return None

    async def _queue(self) -> None:
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # admitted, but cancelled before it could run
                self.leave()
            elif turn in self._waiters:
                self._waiters.remove(turn)
            raise
