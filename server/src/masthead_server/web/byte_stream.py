"""Streams of plain bytes: a client's behind a switch of protocols, and one to a target."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING, Any, Protocol, cast

from masthead_server.web.byte_queue import ByteQueue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.web.connection import HttpConnection

__all__ = ["ByteStream", "ClientStream", "TargetConnection"]


class ByteStream(Protocol):
    """A connection that carries bytes; how they are split has no meaning."""

    async def receive(self) -> bytes | memoryview:
        """Return the next piece; empty after the client has disconnected."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a piece; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        ...

    async def close(self) -> None:
        """End the connection once all is sent."""
        ...


class ClientStream:
    """Plain bytes on the connection of a request that has switched protocols. `Request.switch` makes one.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection
        self._received = ByteQueue(self._resume)
        self._is_paused = False

    def feed(self, data: bytes) -> None:
        """Take what the client sends."""
        self._received.feed(data)
        if self._received.is_full and not self._is_paused:
            self._is_paused = True
            self._connection.pause_reading()

    def end(self) -> None:
        """The client has disconnected."""
        self._received.end()

    async def receive(self) -> bytes | memoryview:
        """Return the next bytes; empty after the client has disconnected."""
        return await self._received.read()

    async def send(self, data: bytes) -> None:
        """Send bytes; waits while the client reads too slowly.

        Raises:
            ConnectionError: If the client has disconnected.
        """
        self._connection.write(data)
        await self._connection.drain()

    async def close(self) -> None:
        """End the connection once all is sent."""
        self._connection.close()

    def _resume(self, _: int) -> None:
        if self._is_paused and not self._received.is_full:
            self._is_paused = False
            self._connection.resume_reading()


class TargetConnection(asyncio.Protocol):
    """Bytes in both directions, which end independently; pieces are passed on without a copy.

    Args:
        max_queued: Bytes that may be queued without holding the other side back; more break the connection. None to
            hold the other side back as soon as the queue is full.
    """

    def __init__(self, max_queued: int | None = None) -> None:
        self._max_queued = max_queued
        self._transport: asyncio.Transport | None = None
        self._received = ByteQueue(self._resume)
        self._is_paused = False
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Queue what arrives; a full queue holds the other side back."""
        self._received.feed(data)
        if self._max_queued is not None:
            if self._received.size > self._max_queued:
                self.fail()
            return
        if self._received.is_full and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """End one direction."""
        self._received.end()
        # Keeps the other direction open; over TLS there is no end of one direction.
        return self._transport is not None and self._transport.get_extra_info("ssl_object") is None

    def connection_lost(self, exc: Exception | None) -> None:
        """End both directions."""
        self._transport = None
        self._error = exc or ConnectionResetError("the connection is closed")
        self._received.end(exc)
        self._can_write.set()

    def pause_writing(self) -> None:
        """Let writers wait."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """Let writers go on."""
        self._can_write.set()

    async def read(self) -> bytes | memoryview:
        """Read the next piece; empty at the end.

        Raises:
            OSError: If the connection broke.
        """
        return await self._received.read()

    async def write(self, data: bytes | memoryview) -> None:
        """Send a piece; waits while the other side reads too slowly.

        Raises:
            OSError: If the connection is broken or closed.
        """
        if self._transport is None:
            raise self._error or ConnectionResetError("the connection is closed")
        self._transport.write(data)
        await self._can_write.wait()

    @property
    def peer_certificate(self) -> Mapping[str, Any]:
        """The verified certificate of the other side, as `ssl.SSLSocket.getpeercert` returns it; empty without TLS."""
        return (self._transport and self._transport.get_extra_info("peercert")) or {}

    def end(self) -> None:
        """Send nothing more; what the other side sends can still be read."""
        if self._transport is not None and self._transport.can_write_eof():
            self._transport.write_eof()
        elif self._transport is not None:  # over TLS, there is no end of one direction
            self._transport.close()

    def close(self) -> None:
        """Close the connection once all is sent. Closing twice does nothing."""
        if self._transport is not None:
            self._transport.close()

    def release(self) -> None:
        """Break the connection, unless it is being closed already."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.abort()

    def fail(self) -> None:
        """Break the connection as its other side would: received bytes are lost."""
        self._received.clear(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))
        self.release()

    def _resume(self, _: int) -> None:
        if self._is_paused and not self._received.is_full and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
