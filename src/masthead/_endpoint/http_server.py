"""A small HTTP/1.1 server for probes, scrapes and webhooks, bounded in every direction.

It uses asyncio's streams, because a web framework would cost an operator 15 MiB and 0.4 s at start, for a few paths.
`ServerLimits` has the limits that differ between probes and webhooks.

| limit | value | consequence |
|---|---|---|
| connections | ``few_connections`` | the longest idle connection is closed, once it was idle for `PATIENCE` |
| connections | ``max_connections`` | the longest idle connection is closed immediately; 503 if none is idle |
| head of a request | `MAX_HEAD` bytes, `MAX_HEADERS` lines | 431 |
| time for a head | `HEAD_TIMEOUT` | closed |
| body of a request | ``max_body`` bytes; all bodies ``max_buffered`` | 413; 503 for the slowest body |
| time for a body | ``body_timeout`` | closed |
| time between requests | ``idle_timeout`` | closed |
| time for a handler | ``handler_timeout`` | 503 |
| time for a client to read a response | `WRITE_TIMEOUT` | connection reset |
| time for a client to read a piece of a stream | `WRITE_TIMEOUT` | connection reset |
| requests per connection | `MAX_REQUESTS` | closed after the response |
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from contextlib import aclosing, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from masthead._endpoint.body_memory import BODY_STEP, BodyMemory
from masthead._endpoint.http_limits import ServerLimits
from masthead._endpoint.http_requests import (
    EndpointResponse,
    RequestError,
    encode_response,
    parse_request,
    text_response,
)
from masthead._endpoint.tls_listener import TlsListener
from masthead.errors import ConfigError

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from types import TracebackType
    from typing import Self

    from masthead._endpoint.bind_address import BindAddress
    from masthead._endpoint.body_memory import BodyReservation
    from masthead._endpoint.http_requests import EndpointRequest

__all__ = ["EndpointServer"]

_log: Final = logging.getLogger("masthead.controller")

PATIENCE: Final = 1.0
MAX_HEAD: Final = 16_384
MAX_REQUESTS: Final = 1_000
HEAD_TIMEOUT: Final = 5.0
WRITE_TIMEOUT: Final = 10.0
_PROBE_LIMITS: Final = ServerLimits()
_END_OF_HEAD: Final = b"\r\n\r\n"


class _Connection:
    """A client's connection.

    Attributes:
        task: The task that serves it.
        writer: The output stream.
        waits_since: The time since which it waits for its client; None while a request is handled.
        is_idle: Whether it waits for the first byte of a request.
    """

    __slots__ = ("is_idle", "task", "waits_since", "writer")

    def __init__(self, task: asyncio.Task[None], writer: asyncio.StreamWriter, now: float) -> None:
        self.task = task
        self.writer = writer
        self.waits_since: float | None = now
        self.is_idle = True


class EndpointServer:
    """Serves requests on one address during a block: ``async with EndpointServer(...)``.

    Args:
        handler: Returns the response to a request. If it raises, the response is 500 and the error is logged.
        bind: The address to listen on.
        what: The name of the endpoint in error messages.
        limits: The limits; None for those of probes.
        tls: Returns the TLS context of the next handshake; None for plain HTTP.
    """

    def __init__(
        self,
        handler: Callable[[EndpointRequest], Awaitable[EndpointResponse]],
        bind: BindAddress,
        what: str,
        *,
        limits: ServerLimits | None = None,
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        self._handler = handler
        self._bind = bind
        self._what = what
        self._limits = limits or _PROBE_LIMITS
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._tls_listeners: list[TlsListener] = []
        self._memory = BodyMemory(self._limits.max_buffered)
        # Ordered, so that the oldest of several equally idle connections is closed.
        self._connections: dict[_Connection, None] = {}
        self._is_closing = False
        self.port: int = bind.port

    async def __aenter__(self) -> Self:
        """Start to listen.

        Raises:
            ConfigError: If the address is unavailable.
        """
        for listener in await _listen(self._bind, self._what):
            self.port = listener.getsockname()[1]
            if self._tls is None:
                self._servers.append(await asyncio.start_server(self._serve, sock=listener, limit=MAX_HEAD))
            else:
                self._tls_listeners.append(TlsListener(listener, self._tls, self._serve, MAX_HEAD))
                self._tls_listeners[-1].start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop listening, close idle connections, and let responses finish for ``close_timeout``."""
        self._is_closing = True
        for server in self._servers:
            server.close()
        for listener in self._tls_listeners:
            await listener.close()
        # Connections between requests have no response to finish.
        for connection in self._connections:
            if connection.is_idle:
                connection.task.cancel()
        tasks = [connection.task for connection in self._connections]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._limits.close_timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = _Connection(task, writer, asyncio.get_running_loop().time())
        # With this limit, `drain` waits until all bytes are sent, so that a client that does not read is detected.
        writer.transport.set_write_buffer_limits(high=0)
        try:
            if self._is_closing or not self._has_room():
                await _write(writer, _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections"))
            else:
                self._connections[connection] = None
                await self._serve_requests(connection, reader)
            writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client has closed the connection, or is too slow
        except asyncio.CancelledError:
            pass  # raised further, the error would be logged by the stream's callback
        except Exception:  # noqa: BLE001 - one connection must not cost the server
            _log.exception("%s: serving a connection failed", self._what)
        finally:
            self._connections.pop(connection, None)
            if not writer.is_closing():
                writer.transport.abort()

    def _has_room(self) -> bool:
        """Make room for a connection, so that idle clients do not lock out others."""
        count = len(self._connections)
        if count < self._limits.few_connections:
            return True
        now = asyncio.get_running_loop().time()
        waiting = [connection for connection in self._connections if connection.waits_since is not None]
        oldest = min(waiting, key=lambda connection: connection.waits_since or 0.0, default=None)
        if oldest is not None and (
            count >= self._limits.max_connections or now - (oldest.waits_since or 0.0) >= PATIENCE
        ):
            # Removed here and not by its task, which ends only at the next turn of the loop.
            self._connections.pop(oldest, None)
            oldest.task.cancel()
            return True
        return count < self._limits.max_connections

    async def _serve_requests(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        writer, loop = connection.writer, asyncio.get_running_loop()
        peer = _peer_of(writer)
        limits = self._limits
        for number in range(1, MAX_REQUESTS + 1):
            connection.waits_since, connection.is_idle = loop.time(), True
            try:
                head = await self._read_head(connection, reader, HEAD_TIMEOUT if number == 1 else limits.idle_timeout)
                if head is None:
                    return
                request = parse_request(head, peer, methods=limits.methods, max_body=limits.max_body)
                with self._memory.open() as body:
                    request = await self._read_body(request, body, reader, writer)
                    connection.waits_since = None
                    response = await self._respond(request)
            except RequestError as refused:
                await _write(writer, _refusal(refused.status, str(refused), limits.methods))
                return
            if response.stream is not None and request.method != "HEAD":
                await self._send_stream(connection, reader, response, response.stream)
                return
            keeps_alive = request.keeps_alive and number < MAX_REQUESTS and not self._is_closing
            has_body = request.method != "HEAD"
            connection.waits_since = loop.time()
            await _write(writer, encode_response(response, has_body=has_body, keeps_alive=keeps_alive))
            if not keeps_alive:
                return
            # Pipelined requests must not starve the event loop.
            await asyncio.sleep(0)

    async def _send_stream(
        self,
        connection: _Connection,
        reader: asyncio.StreamReader,
        response: EndpointResponse,
        stream: AsyncGenerator[bytes],
    ) -> None:
        """Send the pieces of a response until they end, the client leaves or the server closes."""
        # A stream never ends: a server that closes need not wait for it.
        connection.is_idle = True

        async def send() -> None:
            # The client has closed the connection, or does not read.
            with suppress(OSError, TimeoutError):
                async with aclosing(stream):
                    await _write(connection.writer, encode_response(response, has_body=True, keeps_alive=False))
                    async for piece in stream:
                        await _write(connection.writer, piece)

        async with asyncio.TaskGroup() as group:
            sending = group.create_task(send())
            # A quiet stream would never find out by writing.
            leaving = group.create_task(_cancel_at_end(reader, sending))
            sending.add_done_callback(lambda _: leaving.cancel())

    async def _read_head(self, connection: _Connection, reader: asyncio.StreamReader, idle: float) -> bytes | None:
        """Read the head of the next request, without the empty line; None if the client has closed the connection.

        Raises:
            TimeoutError: If it does not arrive in time.
            RequestError: If it is too long.
        """
        # A connection may be idle before the first byte, but a started head has its own, shorter limit.
        async with asyncio.timeout(idle):
            first = await reader.read(1)
        if not first:
            return None
        connection.is_idle = False
        try:
            async with asyncio.timeout(HEAD_TIMEOUT):
                rest = await reader.readuntil(_END_OF_HEAD)
        except asyncio.LimitOverrunError:
            raise RequestError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head of a request has at most {MAX_HEAD} bytes"
            ) from None
        return first + rest.removesuffix(_END_OF_HEAD)

    async def _read_body(
        self,
        request: EndpointRequest,
        body: BodyReservation,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> EndpointRequest:
        """Read the body of a request.

        Raises:
            TimeoutError: If it does not arrive in time.
            RequestError: If all bodies together would be too large.
        """
        if not request.body_length:
            return request
        # curl asks before it sends a large body.
        if request.headers.get("expect", "").lower() == "100-continue":
            await _write(writer, b"HTTP/1.1 100 Continue\r\n\r\n")
        parts: list[bytes] = []
        try:
            async with asyncio.timeout(self._limits.body_timeout) as deadline:
                body.on_evict(lambda: _end_now(deadline))
                for start in range(0, request.body_length, BODY_STEP):
                    size = min(BODY_STEP, request.body_length - start)
                    self._memory.grow(body, size)
                    parts.append(await reader.readexactly(size))
                self._memory.complete(body)
        except TimeoutError:
            # An eviction ends the wait as well, but the client is told.
            self._memory.complete(body)
            raise
        return replace(request, body=b"".join(parts))

    async def _respond(self, request: EndpointRequest) -> EndpointResponse:
        try:
            async with asyncio.timeout(self._limits.handler_timeout):
                return await self._handler(request)
        except TimeoutError:
            _log.warning("%s: %s %s took too long", self._what, request.method, request.path)
            return text_response("this takes too long\n", HTTPStatus.SERVICE_UNAVAILABLE)
        except Exception:  # noqa: BLE001 - one request must not cost the connection
            _log.exception("%s: %s %s failed", self._what, request.method, request.path)
            return text_response("internal error; the log says more\n", HTTPStatus.INTERNAL_SERVER_ERROR)


async def _cancel_at_end(reader: asyncio.StreamReader, task: asyncio.Task[None]) -> None:
    """Cancel a task when the client closes its connection."""
    with suppress(OSError):
        while await reader.read(MAX_HEAD):
            pass
    task.cancel()


def _end_now(deadline: asyncio.Timeout) -> None:
    """Let a deadline expire, unless it just has."""
    if not deadline.expired():
        deadline.reschedule(asyncio.get_running_loop().time())


def _peer_of(writer: asyncio.StreamWriter) -> str:
    """Return the IP address of a client; empty if it has closed the connection."""
    address = writer.get_extra_info("peername")
    return str(address[0]) if address else ""


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Send data.

    Raises:
        TimeoutError: If the client does not read it in time.
    """
    async with asyncio.timeout(WRITE_TIMEOUT):
        writer.write(data)
        await writer.drain()


def _refusal(status: HTTPStatus, message: str, methods: tuple[str, ...] = ()) -> bytes:
    headers = (("Allow", ", ".join(methods)),) if status is HTTPStatus.METHOD_NOT_ALLOWED else ()
    body = f"{message}\n".encode()
    return encode_response(EndpointResponse(status, body, headers=headers), has_body=True, keeps_alive=False)


async def _listen(bind: BindAddress, what: str) -> list[socket.socket]:
    """Open sockets on all addresses of a host, with one port.

    Raises:
        ConfigError: If the address does not exist, or is in use.
    """
    try:
        if not bind.host:
            return [_listen_everywhere(bind.port)]
        found = await asyncio.get_running_loop().getaddrinfo(
            bind.host, bind.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise _unavailable(bind, what, error) from None
    listeners: list[socket.socket] = []
    port, problem = bind.port, OSError(errno.EADDRNOTAVAIL, "no such address")
    # A name such as localhost has an IPv4 and an IPv6 address, but the machine may support only one of them.
    for family, address in dict.fromkeys((info[0], info[4][0]) for info in found):
        try:
            listeners.append(socket.create_server((str(address), port), family=family))
        except OSError as error:
            problem = error
            if bind.port and error.errno == errno.EADDRINUSE:
                break
        else:
            port = listeners[-1].getsockname()[1]
    else:
        if listeners:
            return listeners
    for listener in listeners:
        listener.close()
    raise _unavailable(bind, what, problem)


def _listen_everywhere(port: int) -> socket.socket:
    """Listen on all interfaces with one socket, so that a free port is the same for IPv4 and IPv6."""
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            # A container without IPv6 addresses may still support the address family.
            if error.errno == errno.EADDRINUSE:
                raise
    return socket.create_server(("", port))


def _unavailable(bind: BindAddress, what: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"{what}: cannot listen on {bind}: {error.strerror or error}; choose another address, ':0' for any free "
        "port, or '0' for off"
    )
