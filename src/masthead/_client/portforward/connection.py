"""Connections to a port of a pod without a listener: for asyncio, or as a socket for any library."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Final

from masthead._client.portforward.splice import forward_socket
from masthead._client.portforward.tunnel import PodTunnel
from masthead._module import set_module
from masthead.errors import ClosedError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from masthead._client.portforward.resolver import PodResolver

__all__ = ["PodConnection", "open_socket"]

_log: Final = logging.getLogger("masthead.portforward")

_bridges: Final[set[asyncio.Task[None]]] = set()
"""What carries the bytes of sockets: the event loop alone would not keep them."""


@set_module("masthead.aio.streams")
class PodConnection:
    """A connection to a port of a pod, to be used in ``async with``.

    ::

        async with pods.connect("web", 8080) as connection:
            await connection.write(b"hello")
            print(await connection.read(5))

    Cancellation:
        Leaving the block by an error, or cancelling `close`, drops the connection. Otherwise, written bytes
        is sent first.
    """

    def __init__(self, resolver: Callable[[], Awaitable[PodResolver]]) -> None:
        self._make_resolver = resolver
        self._tunnel: PodTunnel | None = None
        self._task: asyncio.Task[None] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def reader(self) -> asyncio.StreamReader:
        """What the port sends, for libraries that use asyncio's streams.

        Raises:
            ClosedError: If the connection is not open.
        """
        return self._open_streams()[0]

    @property
    def writer(self) -> asyncio.StreamWriter:
        """Sends to the port, for libraries that use asyncio's streams.

        Raises:
            ClosedError: If the connection is not open.
        """
        return self._open_streams()[1]

    @property
    def pod(self) -> str:
        """The pod as ``namespace/name``; empty until it is open."""
        return "" if self._tunnel is None else self._tunnel.target.key

    async def open(self) -> None:
        """Find the pod, and connect to it.

        Raises:
            PortForwardError: If the pod is not running, or has no such port.
            NotFoundError: If there is no such pod, service or workload.
            StatusError: If the server refuses.
            TransportError: If the connection fails, or the server does not speak WebSockets.
            ClosedError: If it was opened before.
        """
        if self._tunnel is not None:
            raise ClosedError("a connection can be opened once; call connect again")
        loop = asyncio.get_running_loop()
        resolver = await self._make_resolver()
        target = await resolver.resolve()
        self._tunnel = tunnel = PodTunnel(await resolver.connect(target), target)
        self._task = loop.create_task(tunnel.run(), name=f"port-forward to {target.key}")
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        tunnel.attach(target.ports[0], protocol)
        self._streams = reader, asyncio.StreamWriter(tunnel, protocol, reader, loop)

    async def read(self, size: int = -1) -> bytes:
        """Read bytes: at most so many, or all until the port ends the connection; empty at its end.

        Raises:
            PortForwardError: If the connection fails, such as for a port on which nothing listens.
            ClosedError: If the connection is not open.
        """
        return await self.reader.read(size)

    async def write(self, data: bytes) -> None:
        """Send bytes, and wait while the port reads too slowly.

        Raises:
            PortForwardError: If the connection has failed.
            ClosedError: If the connection is not open.
        """
        writer = self.writer
        if (error := self._failure()) is not None:
            raise error
        writer.write(data)
        try:
            await writer.drain()
        except ConnectionError:
            raise self._failure() or ClosedError("the port has closed the connection") from None

    async def write_eof(self) -> None:
        """Send nothing more; what the port sends can still be read.

        Raises:
            ClosedError: If the connection is not open.
        """
        self.writer.write_eof()

    async def close(self) -> None:
        """Flush, then close the connection. Closing twice does nothing."""
        if self._task is None or self._tunnel is None:
            return
        self._tunnel.close()
        try:
            await asyncio.wait([self._task])
        finally:
            self._tunnel.abort()

    async def abort(self) -> None:
        """Drop the connection without flushing."""
        if self._task is not None and self._tunnel is not None:
            self._tunnel.abort()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            await self.close()
        else:
            await self.abort()

    def _open_streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            raise ClosedError("the connection is not open; use it in a with block")
        return self._streams

    def _failure(self) -> MastheadError | None:
        return None if self._tunnel is None else self._tunnel.error


async def open_socket(resolver: PodResolver) -> socket.socket:
    """Connect to a port, and return a connected, blocking socket that leads there.

    What carries its bytes ends when the socket is closed, when the port ends the connection, or with the event loop.

    Raises:
        MastheadError: As `PodConnection.open`.
    """
    target = await resolver.resolve()
    tunnel = PodTunnel(await resolver.connect(target), target)
    ours, theirs = socket.socketpair()
    task = asyncio.get_running_loop().create_task(
        _bridge(tunnel, target.ports[0], ours), name=f"port-forward to {target.key}"
    )
    _bridges.add(task)
    task.add_done_callback(_bridges.discard)
    # A task that is cancelled before its first step closes nothing.
    task.add_done_callback(lambda _: ours.close())
    task.add_done_callback(lambda _: tunnel.abort())
    return theirs


async def _bridge(tunnel: PodTunnel, port: int, local: socket.socket) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(tunnel.run())
            await forward_socket(tunnel, port, local)
    except* ClosedError:
        pass  # with the client
    except* (MastheadError, OSError) as failures:
        _log.warning("%s; the socket is closed", failures.exceptions[0])
