"""The HTTP/1.1 transport: one server, and a pool of connections to it."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

from masthead._meta.tls import make_client_context
from masthead._transport.address import ServerAddress
from masthead._transport.body import HttpResponse
from masthead._transport.connection import Connection
from masthead._transport.decompression import DECODERS
from masthead._transport.dialer import Dialer
from masthead._transport.failures import DialError, ErrorFactory, TransportFault
from masthead._transport.pool import ConnectionPool
from masthead._transport.proxy import Proxy
from masthead._transport.request_head import RequestHeadEncoder
from masthead._transport.sockets import SocketTracker
from masthead._transport.upgrade import HttpUpgrade
from masthead.errors import ClosedError

if TYPE_CHECKING:
    import ssl

    from masthead._meta.secret import Secret, SecretValue
    from masthead._transport.contract import TlsSource, TransportRequest
    from masthead._transport.incoming_response import IncomingResponse

__all__ = ["MAX_RESPONSE_BYTES", "HttpTransport"]

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Safe methods, which may be sent again when a pooled connection turns out to be dead."""
MAX_RESPONSE_BYTES: Final = 2**30
"""The default maximum size of a body: a list of a hundred thousand pods has half of it."""
_SWITCHING: Final = 101
_DEAD: Final = frozenset({TransportFault.HUNG_UP, TransportFault.LOST})


class _SystemTrust:
    """The TLS source of a transport without one: the trust store of the system."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    async def context(self) -> ssl.SSLContext:
        """Return the context, created on first use: it loads all CA certificates of the system."""
        if self._context is None:
            self._context = make_client_context()
        return self._context


class HttpTransport:
    """Sends requests to one server over HTTP/1.1, on pooled connections.

    Guarantees:
        Redirects are not followed: they could send the credentials elsewhere. Proxies and credentials come
        from the arguments only, never from the environment. A write is sent at most once; a ``GET`` is sent
        once more, on a new connection, when a pooled one breaks before a byte of the response has arrived.

    Cancellation:
        Cancelling `send`, or the reading of a response, closes the connection in use and no other.

    Threads:
        Belongs to the event loop that first sends with it.

    Args:
        server: The server's address, perhaps with a path, which precedes every target.
        tls: The source of TLS contexts; None for the machine's trust store. Called before each request that
            needs TLS: after a change of the context, requests use new connections, idle ones are closed, and
            running streams continue.
        server_name: The name that the server's certificate must have; empty for the address's.
        proxy_url: The proxy: ``http``, ``https``, ``socks5`` or ``socks5h``, with user and password if
            needed. The same TLS context is used for an ``https`` proxy.
        compression: Whether to request compressed responses.
        connections: The maximum number of connections in use, streams not counted; 0 for no limit.
        connect_timeout: The connect timeout in seconds, the wait for the pool included.
        idle: The idle timeout of a connection in seconds.
        max_response_bytes: The maximum size of a body that is read whole, compressed and decompressed;
            ``math.inf`` for no limit. A stream is decompressed as the caller reads it.

    Raises:
        ConfigError: If an address is invalid.
    """

    def __init__(  # noqa: PLR0913 - settings
        self,
        server: str,
        *,
        tls: TlsSource | None,
        server_name: str = "",
        proxy_url: str | Secret = "",
        compression: bool = True,
        connections: int = 100,
        connect_timeout: float = 30.0,
        idle: float = 30.0,
        max_response_bytes: float = MAX_RESPONSE_BYTES,
    ) -> None:
        address = ServerAddress.parse(server)
        proxy = Proxy.parse(proxy_url) if proxy_url else None
        self._tls = tls or _SystemTrust()
        self._is_secure = address.is_secure or (proxy is not None and proxy.scheme == "https")
        self._connections = connections
        self._connect_timeout = connect_timeout
        self._idle = idle
        self._failures = ErrorFactory(address.place, proxy, connect_timeout, max_response_bytes)
        self._heads = _heads(address, proxy, compression=compression)
        # Through a tunnel, even where the proxy would forward requests: upgrades are between two neighbours only.
        self._upgrade_heads = _heads(address, None, compression=False)
        self._sockets = SocketTracker()
        self._dialer = Dialer(address, server_name, proxy, self._sockets, connect_timeout)
        self._pool: ConnectionPool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connecting: dict[asyncio.Timeout, None] = {}
        self._closed = False

    async def send(self, request: TransportRequest) -> HttpResponse:
        """Send a request and wait for the head of its response, whatever the status.

        Raises:
            ConnectError: If connecting failed, so that the server cannot have seen the request.
            DeadlineError: If no response arrived in time.
            ProtocolError: If the connection was lost, or the response is not HTTP: the server may have seen
                the request.
            ClosedError: If the transport is closed.
            ArgumentError: If a header holds characters that cannot be sent.
            AuthError: If a client certificate or key cannot be read.
            ConfigError: If the CA certificate cannot be read.
        """
        if self._closed:
            raise self._closed_error()
        timeout, read_timeout = request.timeout, request.read_timeout
        if (timeout is not None and timeout <= 0) or (read_timeout is not None and read_timeout <= 0):
            raise self._failures.out_of_time(request)
        head = (self._upgrade_heads if request.is_upgrade else self._heads).write(request)
        context = await self._tls.context() if self._is_secure else None
        pool, loop = self._start()
        deadline = math.inf if timeout is None else loop.time() + timeout
        idle = None if request.is_upgrade else pool.take(context, counts=read_timeout is None)
        connection = idle or await self._connect(request, context, deadline, anew=request.is_upgrade)
        response = await _round_trip(connection, head, request, deadline)
        # A pooled connection may have been closed by the server at the moment of sending. Nothing of a response has
        # arrived, so a safe request can be sent once more, on a fresh connection.
        if (
            response.fault in _DEAD
            and not response.is_begun
            and connection.is_reused
            and request.method in _SAFE
            and not self._closed
        ):
            connection = await self._connect(request, context, deadline, anew=True)
            response = await _round_trip(connection, head, request, deadline)
        return self._build_response(response, request, loop)

    async def close(self) -> None:
        """Close all connections; pending reads fail with ClosedError. Closing twice does nothing."""
        self._closed = True
        loop = asyncio.get_running_loop()
        for scope in self._connecting:
            # reschedule() raises on a timeout that has expired.
            if not scope.expired():
                scope.reschedule(loop.time())
        if self._pool is not None:
            self._pool.close()
        await self._sockets.finish()

    def _start(self) -> tuple[ConnectionPool, asyncio.AbstractEventLoop]:
        """Create the pool on first use, in the event loop that it will belong to."""
        if self._closed:  # perhaps while it waited for the TLS context
            raise self._closed_error()
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool, self._loop = ConnectionPool(loop, self._connections), loop
        elif self._loop is not loop:
            raise RuntimeError(
                f"the client of {self._failures.server} belongs to another event loop; create one for each"
            )
        return self._pool, loop

    async def _connect(
        self, request: TransportRequest, context: ssl.SSLContext | None, deadline: float, *, anew: bool
    ) -> Connection:
        """Wait for an idle connection, or dial."""
        pool, loop = self._start()
        limit = loop.time() + self._connect_timeout
        counts = request.read_timeout is None
        is_waiting = True
        scope = asyncio.timeout_at(min(limit, deadline))
        self._connecting[scope] = None
        try:
            async with scope:
                connection = await pool.enter(context, anew=anew, counts=counts)
                is_waiting = False
                return connection or await self._dial(pool, loop, request, context)
        except DialError as error:
            failure: Exception = self._failures.not_dialled(error, request)
        except TimeoutError:
            if is_waiting:
                failure = self._failures.pool_exhausted(request, self._connections)
            elif deadline <= limit:
                failure = self._failures.broken(TransportFault.LATE, None, request)
            else:
                failure = self._failures.not_connected(request)
        finally:
            self._connecting.pop(scope, None)
        if self._closed:
            failure = self._closed_error()
        raise failure  # outside the except clause, so that it has no context

    async def _dial(
        self,
        pool: ConnectionPool,
        loop: asyncio.AbstractEventLoop,
        request: TransportRequest,
        context: ssl.SSLContext | None,
    ) -> Connection:
        connection = Connection(loop, pool, context, self._idle)
        # A read timeout means a stream, such as a watch: counted, watches would use up the limit for calls.
        connection.is_counted = request.read_timeout is None
        try:
            await self._dialer.dial(connection, _user_agent(request), is_upgrade=request.is_upgrade)
        except BaseException:
            # Also on cancellation: otherwise its place in the pool would be lost for good.
            connection.abort()
            if connection.is_counted:
                pool.leave()
            raise
        pool.add(connection)
        return connection

    def _build_response(
        self, response: IncomingResponse, request: TransportRequest, loop: asyncio.AbstractEventLoop
    ) -> HttpResponse:
        if not response.status:
            fault = response.fault
            if fault is None or fault is TransportFault.CLOSED or self._closed:
                raise self._closed_error()
            raise self._failures.broken(fault, response.cause, request)
        if response.status == _SWITCHING:
            return HttpUpgrade(response, request, self._failures, None, loop)
        encodings = response.headers.get(b"content-encoding")
        if encodings is None:
            return HttpResponse(response, request, self._failures, None, loop)
        encoding = b",".join(encodings).decode("latin-1").strip().lower()
        if encoding not in DECODERS:
            # Nobody will read its body.
            response.drop()
            raise self._failures.unknown_encoding(encoding, request)
        decoder = DECODERS[encoding]
        return HttpResponse(response, request, self._failures, decoder() if decoder else None, loop)

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"the client of {self._failures.server} is closed; create another one")


async def _round_trip(
    connection: Connection, head: SecretValue[bytes], request: TransportRequest, deadline: float
) -> IncomingResponse:
    """Send a request, and wait for the head of its response or for a fault."""
    response = connection.send(head, request, deadline)
    try:
        while not response.status and response.fault is None:
            await response.changed()
    except BaseException:
        # Cancelled: the response is still to come, and must not be taken for that of a next request.
        response.drop()
        raise
    return response


def _user_agent(request: TransportRequest) -> str:
    """The request's ``User-Agent``, for a proxy."""
    found = next((value for name, value in request.headers if name.lower() == "user-agent"), "")
    return found if isinstance(found, str) else ""


def _heads(server: ServerAddress, proxy: Proxy | None, *, compression: bool) -> RequestHeadEncoder:
    headers: dict[str, str | Secret] = {
        "Host": server.authority,
        "Accept-Encoding": "gzip" if compression else "identity",
    }
    base = server.prefix
    # Plain HTTP through an HTTP proxy takes the absolute form (RFC 9112, 3.2.2); TLS takes a tunnel.
    if proxy is not None and not proxy.is_socks and not server.is_secure:
        base = f"http://{server.authority}{base}"
        headers |= proxy.headers()
    return RequestHeadEncoder(base, headers)
