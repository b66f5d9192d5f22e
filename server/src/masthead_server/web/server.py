"""All connections of a server."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeAlias

from masthead_server.head_limits import HEADS_LIMIT, Budget
from masthead_server.web.connection import HttpConnection
from masthead_server.web.response import http_date

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from logging import Logger

    from masthead_server.clock import Clock
    from masthead_server.web.request import Request

    Handler: TypeAlias = Callable[[Request], Awaitable[None]]

__all__ = ["HttpServer"]


class HttpServer:
    """Creates an `HttpConnection` per client.

    Args:
        handler: Handles a request: when it returns, it has responded. It is cancelled when the client goes away.
        clock: Times heads out.
        logger: Reports errors of the handler.

    Attributes:
        connections: The open connections.
        heads: The bytes of heads that all connections have pending.
    """

    def __init__(self, handler: Handler, *, clock: Clock, logger: Logger) -> None:
        self.handler = handler
        self.clock = clock
        self.logger = logger
        self.connections: dict[HttpConnection, None] = {}
        self.heads = Budget(HEADS_LIMIT)
        self._second = 0
        self._date = ""

    def __call__(self) -> HttpConnection:
        """Make the protocol of a new connection."""
        return HttpConnection(self)

    def date(self) -> str:
        """Return the value of the Date header, formatted once a second."""
        second = int(time.time())  # noqa: TID251 - what a client compares with its own clock
        if second != self._second:
            self._second, self._date = second, http_date(second)
        return self._date

    async def shut_down(self, seconds: float) -> None:
        """Close idle connections, and the others once they have been responded to.

        Args:
            seconds: The time for that.
        """
        await asyncio.gather(*(connection.shut_down(seconds) for connection in tuple(self.connections)))
