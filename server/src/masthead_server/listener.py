"""A listening socket that speaks plain HTTP and TLS on one port.

The first byte of a connection tells them apart: TLS begins with a record of type 22, HTTP with the letter of a method.
It is looked at without being read, so that asyncio makes an ordinary connection of either.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from masthead_server.head_limits import HEAD_SECONDS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from masthead_server.clock import Clock, Timer

__all__ = ["ServerListener"]

_log: Final = logging.getLogger(__name__)
_TLS_HANDSHAKE: Final = b"\x16"
_ACCEPTED_AT_ONCE: Final = 128
"""Connections that are accepted before other tasks have their turn."""
_RETRY_SECONDS: Final = 1.0
"""The pause after a refusal of the system, which has no file descriptors left."""


class ServerListener:
    """Accepts connections from one socket.

    Args:
        listening: The socket; the listener closes it.
        protocol: Makes the protocol of a connection.
        context: Returns the TLS context, once a client speaks TLS; None if there are no certificates.
        requires_tls: Whether plain HTTP is refused.
        clock: Times out connections that say nothing.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        *,
        context: Callable[[], ssl.SSLContext | None],
        requires_tls: bool,
        clock: Clock,
    ) -> None:
        self._protocol = protocol
        self._context = context
        self._requires_tls = requires_tls
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        # The event loop of a test may simulate connections.
        adopt: Callable[[socket.socket], socket.socket] | None = getattr(self._loop, "adopt_listener", None)
        self._listening = listening if adopt is None else adopt(listening)
        self._silent: dict[socket.socket, Timer] = {}
        """Connections whose first byte has not arrived."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start to accept connections."""
        self._listening.setblocking(False)
        self._loop.add_reader(self._listening.fileno(), self._accept)

    def stop_accepting(self) -> None:
        """Leave new connections in the backlog, and drop silent ones."""
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._listening.fileno())
        # A copy, because forgetting changes the table.
        for connection in tuple(self._silent):
            self._forget(connection)
            connection.close()

    def close(self) -> None:
        """Close the socket, and abandon TLS handshakes; established connections stay."""
        for task in tuple(self._tasks):
            task.cancel()
        self._listening.close()

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            # Nothing is left in the backlog, or the client has already closed.
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.error("cannot accept a connection: %s", error)
                self._loop.remove_reader(self._listening.fileno())
                self._retry = self._loop.call_later(_RETRY_SECONDS, self.start)
                return
            _configure(connection)
            drop = functools.partial(self._drop, connection)
            # A silent client would hold a file descriptor forever.
            self._silent[connection] = self._clock.call_later(HEAD_SECONDS, drop)
            self._loop.add_reader(connection.fileno(), self._look, connection)

    def _look(self, connection: socket.socket) -> None:
        """Read the first byte, and pass the connection to plain HTTP or TLS."""
        try:
            # Peeked, so that asyncio reads it again.
            first = connection.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        self._forget(connection)
        if not first:
            connection.close()
            return
        task = self._loop.create_task(self._hand_on(connection, is_tls=self._requires_tls or first == _TLS_HANDSHAKE))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _hand_on(self, connection: socket.socket, *, is_tls: bool) -> None:
        context = self._context() if is_tls else None
        # ssl.SSLError is an OSError: a client that does not trust the certificate, for example.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(self._protocol, connection, ssl=context)

    def _forget(self, connection: socket.socket) -> None:
        self._silent.pop(connection).cancel()
        self._loop.remove_reader(connection.fileno())

    def _drop(self, connection: socket.socket) -> None:
        self._forget(connection)
        connection.close()


def _configure(connection: socket.socket) -> None:
    connection.setblocking(False)
    # asyncio sets this for sockets that name their protocol only, and accepted ones do not. Without, the last chunk of
    # a response waits until the client has acknowledged the one before.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A client that has vanished is noticed in the end.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
