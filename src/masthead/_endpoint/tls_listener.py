"""Accepts TLS connections, with the certificate of the moment and a bounded number of handshakes."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

__all__ = ["TlsListener"]

_log: Final = logging.getLogger("masthead.controller")

HANDSHAKE_TIMEOUT: Final = 5.0
MAX_HANDSHAKES: Final = 256
"""Beyond, the oldest handshake is given up: a silent client must not lock out others."""
_RETRY_SECONDS: Final = 1.0
"""The pause after the system refuses a connection, because no file descriptors are left."""


class TlsListener:
    """Accepts connections of one listening socket.

    Args:
        listener: The socket, which is closed at the end.
        context: Returns the TLS context for the next handshake. Established connections keep theirs.
        serve: Serves a connection after its handshake.
        limit: The limit of its stream reader.
    """

    def __init__(
        self,
        listener: socket.socket,
        context: Callable[[], ssl.SSLContext],
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        limit: int,
    ) -> None:
        self._listener = listener
        self._context = context
        self._serve = serve
        self._limit = limit
        # Ordered, so that the oldest handshake is given up.
        self._handshakes: dict[asyncio.Task[None], socket.socket] = {}
        self._accepting: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to accept."""
        self._listener.setblocking(False)
        loop = asyncio.get_running_loop()
        # A loop of tests may have connections of its own.
        adopt: Callable[[socket.socket], socket.socket] | None = getattr(loop, "adopt_listener", None)
        if adopt is not None:
            self._listener = adopt(self._listener)
        self._accepting = loop.create_task(self._accept())

    async def close(self) -> None:
        """Stop accepting and give up handshakes. Established connections stay."""
        tasks = [*self._handshakes, *([] if self._accepting is None else [self._accepting])]
        for task in list(self._handshakes):
            self._give_up(task)
        if self._accepting is not None:
            self._accepting.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listener.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                _log.error("cannot accept a connection: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            if len(self._handshakes) >= MAX_HANDSHAKES:
                self._give_up(next(iter(self._handshakes)))
            task = loop.create_task(self._shake_hands(connection))
            self._handshakes[task] = connection
            task.add_done_callback(self._forget)

    async def _shake_hands(self, connection: socket.socket) -> None:
        # asyncio sets this for sockets that name their protocol, and accepted ones do not. Without it, the first
        # response waits 40 ms until the client has acknowledged the session tickets of the handshake.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=self._limit, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, self._serve, loop=loop)
        try:
            await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._context(), ssl_handshake_timeout=HANDSHAKE_TIMEOUT
            )
        # A client that speaks no TLS, does not trust the certificate, is too slow, or has closed the connection.
        except (OSError, TimeoutError) as error:
            _log.debug("a TLS handshake failed: %s", error)

    def _give_up(self, task: asyncio.Task[None]) -> None:
        # Removed here, because the task ends only at the next turn of the loop. A task that has not begun would not
        # close its socket.
        connection = self._handshakes.pop(task)
        task.add_done_callback(lambda _: connection.close())
        task.cancel()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a TLS handshake failed: %s", error, exc_info=error)
