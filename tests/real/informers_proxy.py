"""A wire between a client and a server, of the test's own: it can be cut, held up and torn."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 65_536


class Proxy:
    """Passes on what comes over TCP, encrypted or not, without looking into it.

    Args:
        target: The address of the server; the proxy's own differs from it in the port alone, so that the server's
            certificate is good for both.
    """

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._wires: set[_Wire] = set()
        self._server: asyncio.Server | None = None
        self._passes = True
        self._stall_next: int | None = None
        self._last: _Wire | None = None
        self._changed = asyncio.Event()

    @property
    def url(self) -> str:
        """Where the proxy is."""
        assert self._server is not None
        return f"{self._host}:{self._server.sockets[0].getsockname()[1]}"

    @property
    def wires(self) -> int:
        """How many connections there are."""
        return len(self._wires)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self.until(lambda: not self._wires)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Break all connections. New ones can be made."""
        for wire in self._wires:
            wire.cut()

    async def shut(self) -> None:
        """Break all connections, and every new one as soon as it is made, until `open`.

        When it returns, nothing passes any more: what the server sends next does not reach the client.
        """
        self._passes = False
        broken = set(self._wires)
        self.cut()
        await self.until(lambda: not broken & self._wires)

    def open(self) -> None:
        """Let new connections through again."""
        self._passes = True

    def stall(self) -> None:
        """Forward nothing more to the clients of the open connections, which stay open. New ones work."""
        for wire in self._wires:
            wire.flows.clear()

    def stall_last(self) -> None:
        """Forward nothing more to the client over the connection that it was last sent bytes over."""
        assert self._last is not None
        self._last.flows.clear()

    def stall_next(self, *, after: int) -> None:
        """Pass on only so many bytes to the client of the next connection that is made, which stays."""
        self._stall_next = after

    def tear(self, *, after: int) -> None:
        """Break each open connection after so many more bytes for its client."""
        for wire in self._wires:
            wire.left = after

    async def until(self, is_so: Callable[[], bool], *, within: float = 60.0) -> None:
        """Wait for connections to come or go."""
        async with asyncio.timeout(within):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = _Wire(reader, writer, stalls_after=self._stall_next, note=self._note)
        self._stall_next = None
        self._wires.add(wire)
        self._changed.set()
        try:
            if self._passes:
                await wire.run(self._port)
        finally:
            self._wires.discard(wire)
            writer.transport.abort()
            self._changed.set()

    def _note(self, wire: _Wire) -> None:
        self._last = wire


class _Wire:
    """One connection from end to end."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        stalls_after: int | None,
        note: Callable[[_Wire], None],
    ) -> None:
        self._near = (reader, writer)
        self._is_cut = asyncio.Event()
        self.flows = asyncio.Event()
        self.flows.set()
        self.left: int | None = None
        self._stalls_after = stalls_after
        self._note_use = note

    def cut(self) -> None:
        self._is_cut.set()

    async def run(self, port: int) -> None:
        """Pass on until one side ends it, or it is cut."""
        try:
            far = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # the server is away, and that is for the client to find out
            return
        loop = asyncio.get_running_loop()
        tasks = [
            loop.create_task(self._pass_on(self._near[0], far[1])),
            loop.create_task(self._pass_back(far[0], self._near[1])),
            loop.create_task(self._is_cut.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far[1].transport.abort()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_AT_ONCE):
                writer.write(data)
                await writer.drain()

    async def _pass_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_AT_ONCE):
                self._note(len(data))
                await self.flows.wait()
                self._note_use(self)
                if self.left is not None:
                    data, self.left = data[: self.left], self.left - len(data)
                writer.write(data)
                await writer.drain()
                if self.left is not None and self.left <= 0:
                    return

    def _note(self, size: int) -> None:
        """So many bytes have come for the client."""
        if self._stalls_after is not None:
            self._stalls_after -= size
            if self._stalls_after < 0:
                self.flows.clear()
