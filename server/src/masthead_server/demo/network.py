"""The network between clients and server: a TCP relay whose connections can be cut or silenced."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

ResultT = TypeVar("ResultT")

_HOST: Final = "127.0.0.1"
_CHUNK: Final = 65_536
_METHODS: Final = (b"GET ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ")


class Network:
    """Relays connections to a server, in a separate thread. To be used in ``with``.

    The faults of `masthead.server.Faults` hit watches that are opened after them; a network also loses the open ones.

    Args:
        target: The port of the server.

    Attributes:
        port: The port for clients.
    """

    def __init__(self, target: int) -> None:
        self.port = 0
        self._target = target
        self._is_open = True
        self._connections: set[_Connection] = set()
        self._is_up = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="demo-network", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_up.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._stop is not None:
            self._call(self._stop.set)
        self._thread.join()

    def cut(self) -> int:
        """Cut all connections; return how many there were."""
        return self._call(self._cut_all)

    def close(self) -> None:
        """Cut all connections, and refuse new ones until `reopen`."""
        self._call(lambda: self._set_open(is_open=False))

    def reopen(self) -> None:
        """Let clients connect again."""
        self._call(lambda: self._set_open(is_open=True))

    def silence_watches(self, resource: str) -> int:
        """Deliver nothing any more on the connections that watch a resource, but keep them open; return their number.

        Args:
            resource: The plural.
        """
        return self._call(lambda: sum(connection.silence(resource) for connection in tuple(self._connections)))

    def _cut_all(self) -> int:
        # The relay removes connections later, in tasks of this loop.
        for connection in self._connections:
            connection.abort()
        return len(self._connections)

    def _set_open(self, *, is_open: bool) -> None:
        self._is_open = is_open
        if not is_open:
            self._cut_all()

    def _call(self, act: Callable[[], ResultT]) -> ResultT:
        """Call a function in the thread of the network, and return its result."""

        async def call() -> ResultT:
            return act()

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        listener = await asyncio.start_server(self._relay, _HOST, 0)
        self.port = listener.sockets[0].getsockname()[1]
        self._is_up.set()
        await self._stop.wait()
        listener.close()
        # Otherwise the relays would wait for clients that are still connected.
        self._cut_all()

    async def _relay(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        # While the server restarts, its port refuses connections.
        try:
            if not self._is_open:
                raise ConnectionError
            server, to_server = await asyncio.open_connection(_HOST, self._target)
        except OSError:
            to_client.transport.abort()
            return
        connection = _Connection(to_client, to_server)
        self._connections.add(connection)
        try:
            # Both directions end together, because each closes both ends.
            async with asyncio.TaskGroup() as group:
                group.create_task(connection.send_requests(client))
                group.create_task(connection.send_responses(server))
        finally:
            self._connections.discard(connection)


class _Connection:
    """One connection of a client, and the one to the server that belongs to it."""

    def __init__(self, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self._client = client
        self._server = server
        self._request = b""
        self._is_audible = asyncio.Event()
        self._is_audible.set()

    def abort(self) -> None:
        """End it without a word, as a broken cable does."""
        self._client.transport.abort()
        self._server.transport.abort()
        # The task that waits for it has to end.
        self._is_audible.set()

    def silence(self, resource: str) -> bool:
        """Hold back what the server sends from now on if it watches a resource; tell whether it does."""
        is_watch = f"/{resource}?".encode() in self._request and b"watch=true" in self._request
        if is_watch:
            self._is_audible.clear()
        return is_watch

    async def send_requests(self, client: asyncio.StreamReader) -> None:
        """Pass on requests until an end closes; note the last path."""
        with suppress(ConnectionError):
            while data := await client.read(_CHUNK):
                # A connection is used for many requests, one after the other.
                if data.startswith(_METHODS):
                    self._request = data.partition(b"\r\n")[0]
                self._server.write(data)
                await self._server.drain()
        self._close()

    async def send_responses(self, server: asyncio.StreamReader) -> None:
        """Pass on responses until an end closes, unless the connection is silent."""
        with suppress(ConnectionError):
            while data := await server.read(_CHUNK):
                await self._is_audible.wait()
                # The client gives up a silent connection, and the withheld data has no reader.
                if self._client.is_closing():
                    break
                self._client.write(data)
                await self._client.drain()
        self._close()

    def _close(self) -> None:
        """Close both ends after sending their buffers."""
        self._client.close()
        self._server.close()
        self._is_audible.set()
