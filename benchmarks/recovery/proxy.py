"""A TCP proxy between a client and the API server, which can fail in the ways that load balancers do.

::

    client ──> FaultyProxy ──> API server      idle timeout: closes connections without traffic
                                               outage: closes all connections, and refuses new ones
                                               cut: closes all connections, and accepts new ones
                                               silence: connections stay open, and nothing passes any more
                                               blackout: silence, also of connections that are made meanwhile
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

_WATCH_REQUEST: Final = re.compile(rb"^GET [^ ]*[?&]watch=(true|1)\b", re.MULTILINE)
_END_OF_RESPONSE: Final = b"\r\n0\r\n\r\n"
_BUFFER: Final = 65_536


def _now() -> float:
    return asyncio.get_running_loop().time()


class FaultyProxy:
    """Forwards connections to one server.

    Args:
        target: The port of the server, on this machine.
        idle_timeout: Seconds without traffic after which a connection is closed; None for no limit.
    """

    def __init__(self, target: int, *, idle_timeout: float | None = None) -> None:
        self.port = 0
        self._target = target
        self._idle_timeout = idle_timeout
        self._has_server = True
        self._is_blackout = False
        self._listener: asyncio.Server | None = None
        self._connections: set[_Connection] = set()
        self._handlers: set[asyncio.Task[None]] = set()
        self.coverage = WatchCoverage()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[FaultyProxy]:
        """Forward connections during the block."""
        await self.resume()
        try:
            yield self
        finally:
            await self.refuse()
            await asyncio.gather(*self._handlers, return_exceptions=True)

    async def resume(self) -> None:
        """Accept connections, always on the same port."""
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", self.port, backlog=512)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Close all connections, and refuse new ones until `resume`."""
        assert self._listener is not None
        self._listener.close()
        self.cut()
        await self._listener.wait_closed()

    def cut(self) -> None:
        """Close all connections; new ones are accepted."""
        for connection in tuple(self._connections):
            connection.close()

    @contextlib.contextmanager
    def without_server(self) -> Generator[None]:
        """Accept connections and close them at once, as a load balancer without a server behind it."""
        self._has_server = False
        self.cut()
        try:
            yield
        finally:
            self._has_server = True

    def silence(self) -> None:
        """Keep the present connections open, and pass nothing on; new ones work."""
        for connection in self._connections:
            connection.silence()

    @contextlib.contextmanager
    def blackout(self) -> Generator[None]:
        """Swallow the bytes of all connections; those of now and of meanwhile stay dead, and later ones work."""
        self._is_blackout = True
        self.silence()
        try:
            yield
        finally:
            self._is_blackout = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._has_server:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        task.add_done_callback(self._handlers.discard)
        try:
            upstream = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        connection = _Connection((reader, writer), upstream, self._idle_timeout, self.coverage)
        if self._is_blackout:
            connection.silence()
        self._connections.add(connection)
        try:
            await connection.forward()
        finally:
            self._connections.discard(connection)


class WatchCoverage:
    """Measures for which share of the time at least one watch was open."""

    def __init__(self) -> None:
        self._open = 0
        self._began = self._changed = _now()
        self._covered = 0.0
        self.requests = 0

    def restart(self) -> None:
        """Start to measure now."""
        self._began = self._changed = _now()
        self._covered = 0.0
        self.requests = 0

    def change(self, difference: int) -> None:
        """Count a watch that was opened or closed."""
        now = _now()
        if self._open:
            self._covered += now - self._changed
        self._changed = now
        self._open += difference
        self.requests += difference > 0

    @property
    def blind_percent(self) -> float:
        """The percentage of the time without a watch."""
        self.change(0)
        total = _now() - self._began
        return 100.0 * (1.0 - self._covered / total) if total else 0.0


class _Connection:
    """One forwarded connection."""

    def __init__(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        idle_timeout: float | None,
        coverage: WatchCoverage,
    ) -> None:
        self._client_reader, self._client_writer = client
        self._server_reader, self._server_writer = server
        self._idle_timeout = idle_timeout
        self._coverage = coverage
        self._last_traffic = _now()
        self._is_silent = False
        self._is_requested = self._is_watch = False
        self._tail = b""
        self._closed = asyncio.Event()

    def close(self) -> None:
        """Close both sides."""
        self._closed.set()

    def silence(self) -> None:
        """Pass nothing on any more."""
        self._is_silent = True
        self._set_watch(is_open=False)

    async def forward(self) -> None:
        """Copy bytes both ways until one side closes."""
        loop = asyncio.get_running_loop()
        copies = [
            loop.create_task(self._copy_requests()),
            loop.create_task(self._copy_responses()),
            loop.create_task(self._wait_for_end()),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._set_watch(is_open=False)
            for copy in copies:
                copy.cancel()
            await asyncio.gather(*copies, return_exceptions=True)
            for writer in (self._client_writer, self._server_writer):
                writer.transport.abort() if self._closed.is_set() else writer.close()

    async def _copy_requests(self) -> None:
        while data := await self._client_reader.read(_BUFFER):
            if not self._is_silent:
                self._is_requested = bool(_WATCH_REQUEST.search(data))
                await self._pass_on(data, self._server_writer)

    async def _copy_responses(self) -> None:
        while data := await self._server_reader.read(_BUFFER):
            if self._is_silent:
                continue
            if self._is_requested and data.startswith(b"HTTP/1.1 200"):
                self._set_watch(is_open=True)
            self._tail = (self._tail + data)[-len(_END_OF_RESPONSE) :]
            if self._tail == _END_OF_RESPONSE:
                self._set_watch(is_open=False)
            await self._pass_on(data, self._client_writer)
        # What is silent stays open, whatever the server does.
        if self._is_silent:
            await self._closed.wait()

    async def _pass_on(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        self._last_traffic = _now()
        writer.write(data)
        await writer.drain()

    async def _wait_for_end(self) -> None:
        """Wait until the connection is cut, or has been idle for too long."""
        while True:
            due = None if self._idle_timeout is None else self._last_traffic + self._idle_timeout
            try:
                async with asyncio.timeout_at(due):
                    await self._closed.wait()
                    return
            except TimeoutError:
                if due is not None and self._last_traffic + (self._idle_timeout or 0.0) <= due:
                    return

    def _set_watch(self, *, is_open: bool) -> None:
        if is_open != self._is_watch:
            self._is_watch = is_open
            self._coverage.change(1 if is_open else -1)
