"""The contract over HTTP/1.1: one server, and a pool of connections to it."""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import TYPE_CHECKING, Final

from masthead._transport.address import ServerAddress
from masthead._transport.body import HttpResponse
from masthead._transport.connection import Connection
from masthead._transport.decompression import PACKINGS
from masthead._transport.dialer import Dialer
from masthead._transport.failures import DialError, ErrorFactory, TransportFault
from masthead._transport.pool import ConnectionPool
from masthead._transport.proxy import Proxy
from masthead._transport.request_head import RequestHeadEncoder
from masthead._transport.sockets import SocketTracker
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from masthead._meta.secret import Secret, SecretValue
    from masthead._transport.contract import TlsSource, TransportRequest
    from masthead._transport.incoming_response import IncomingResponse

__all__ = ["MAX_RESPONSE_BYTES", "HttpTransport"]

_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""What changes nothing, and so may be sent again when a connection that was kept turns out to be dead."""
MAX_RESPONSE_BYTES: Final = 2**30
"""How long a body may be unless somebody says otherwise: a list of a hundred thousand pods has half of it."""
_DEAD: Final = frozenset({TransportFault.HUNG_UP, TransportFault.LOST})


class HttpTransport:
    """Sends requests to one server over HTTP/1.1, on connections that it keeps.

    Guarantees:
        Redirects are not followed: they could carry the credentials elsewhere. Proxies and credentials come from the
        arguments alone, never from the environment. A request that changes something is sent at most once; a ``GET``
        is repeated once, on a new connection, when a kept one breaks before a byte of the answer has come.

    Cancellation:
        Cancelling `send`, or the reading of an answer, closes the connection that was in use and no other.

    Threads:
        Belongs to the event loop that first sends with it.

    Args:
        server: The server's address, perhaps with a path, which goes before every target.
        tls: Where TLS settings come from; None for what the machine trusts. Asked before each request that needs
            TLS: when it has other settings, requests use new connections, idle ones are closed, and running streams
            go on.
        server_name: The name that the server's certificate must have, if it is not the address'.
        proxy_url: Through whom to go: ``http``, ``https``, ``socks5`` or ``socks5h``, with user and password if need
            be. The same TLS settings count for an ``https`` proxy.
        compression: Whether to ask for compressed answers.
        connections: How many connections may be in use at once, streams aside; 0 for any number.
        connect_timeout: How many seconds connecting may take, the wait for a free connection included.
        idle: How many seconds a connection is kept without use.
        max_response_bytes: How long a body that is read at once may be, packed and unpacked; ``math.inf`` for any
            length. Of a stream, only so much is unpacked as its reader takes.

    Raises:
        ConfigError: if an address is not one.
    """

    def __init__(  # noqa: PLR0913 - how it behaves
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
        self._tls = tls
        self._is_secure = address.is_secure or (proxy is not None and proxy.scheme == "https")
        self._connections = connections
        self._connect_timeout = connect_timeout
        self._idle = idle
        self._failures = ErrorFactory(address.place, proxy, connect_timeout, max_response_bytes)
        self._heads = _heads(address, proxy, compression=compression)
        self._sockets = SocketTracker()
        self._dialer = Dialer(address, server_name, proxy, self._sockets, connect_timeout)
        self._pool: ConnectionPool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._default: ssl.SSLContext | None = None
        self._connecting: set[asyncio.Timeout] = set()
        self._closed = False

    async def send(self, request: TransportRequest) -> HttpResponse:
        """Send a request and wait for the head of its answer; any status is an answer.

        Raises:
            ConnectError: if no connection was made, so that the server cannot have seen the request.
            DeadlineError: if no answer came in time.
            ProtocolError: if the connection was lost, or what came is not HTTP: the server may have seen the request.
            ClosedError: if the transport is closed.
            InvalidValueError: if a header holds what cannot be sent.
            AuthError: if the TLS settings cannot be had.
            ConfigError: if the TLS settings cannot be had.
        """
        self._ensure_open()
        timeout, read_timeout = request.timeout, request.read_timeout
        if (timeout is not None and timeout <= 0) or (read_timeout is not None and read_timeout <= 0):
            raise self._failures.out_of_time(request)
        head = self._heads.write(request)
        context = await self._context() if self._is_secure else None
        pool, loop = self._start()
        deadline = math.inf if timeout is None else loop.time() + timeout
        connection = pool.take(context, counts=read_timeout is None) or await self._connect(
            request, context, deadline, anew=False
        )
        response = await _round_trip(connection, head, request, deadline)
        if (
            response.fault in _DEAD
            and not response.is_begun
            and connection.is_reused
            and request.method in _REPEATABLE
            and not self._closed
        ):
            connection = await self._connect(request, context, deadline, anew=True)
            response = await _round_trip(connection, head, request, deadline)
        return self._received(response, request, loop)

    async def close(self) -> None:
        """Close every connection, and wake whoever reads from one. Closing twice does nothing."""
        self._closed = True
        loop = asyncio.get_running_loop()
        for scope in self._connecting:
            if not scope.expired():
                scope.reschedule(loop.time())
        if self._pool is not None:
            self._pool.close()
        await self._sockets.finish()

    def _start(self) -> tuple[ConnectionPool, asyncio.AbstractEventLoop]:
        """Open the pool, inside the loop that it will belong to."""
        self._ensure_open()  # it may have been closed while the TLS settings were waited for
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool, self._loop = ConnectionPool(loop, self._connections), loop
        elif self._loop is not loop:
            raise RuntimeError(
                f"the client of {self._failures.server} belongs to another event loop; make one for each"
            )
        return self._pool, loop

    async def _context(self) -> ssl.SSLContext:
        if self._tls is not None:
            return await self._tls.context()
        if self._default is None:
            self._default = ssl.create_default_context()
            self._default.hostname_checks_common_name = False
        return self._default

    async def _connect(
        self, request: TransportRequest, context: ssl.SSLContext | None, deadline: float, *, anew: bool
    ) -> Connection:
        """Wait for a connection, or make one."""
        pool, loop = self._start()
        limit = loop.time() + self._connect_timeout
        counts = request.read_timeout is None
        is_waiting = True
        scope = asyncio.timeout_at(min(limit, deadline))
        self._connecting.add(scope)
        try:
            async with scope:
                connection = await pool.enter(context, anew=anew, counts=counts)
                is_waiting = False
                return connection or await self._dial(pool, loop, request, context)
        except DialError as error:
            failure: Exception = self._failures.not_dialled(error, request)
        except TimeoutError:
            if is_waiting:
                failure = self._failures.crowded(request, self._connections)
            elif deadline <= limit:
                failure = self._failures.broken(TransportFault.LATE, None, request)
            else:
                failure = self._failures.not_connected(request)
        finally:
            self._connecting.discard(scope)
        if self._closed:
            failure = self._closed_error()
        raise failure  # here, so that it drags along no other error

    async def _dial(
        self,
        pool: ConnectionPool,
        loop: asyncio.AbstractEventLoop,
        request: TransportRequest,
        context: ssl.SSLContext | None,
    ) -> Connection:
        connection = Connection(loop, pool, context, self._idle)
        connection.is_counted = request.read_timeout is None
        try:
            await self._dialer.dial(connection, _agent(request))
        except BaseException:
            connection.abort()
            if connection.is_counted:
                pool.leave()
            raise
        pool.add(connection)
        return connection

    def _received(
        self, response: IncomingResponse, request: TransportRequest, loop: asyncio.AbstractEventLoop
    ) -> HttpResponse:
        if not response.status:
            fault = response.fault
            if fault is None or fault is TransportFault.CLOSED or self._closed:
                raise self._closed_error()
            raise self._failures.broken(fault, response.cause, request)
        packed = response.headers.get(b"content-encoding")
        if packed is None:
            return HttpResponse(response, request, self._failures, None, loop)
        encoding = b",".join(packed).decode("latin-1").strip().lower()
        if encoding not in PACKINGS:
            response.drop()
            raise self._failures.unknown_packing(encoding, request)
        packing = PACKINGS[encoding]
        return HttpResponse(response, request, self._failures, packing() if packing else None, loop)

    def _ensure_open(self) -> None:
        if self._closed:
            raise self._closed_error()

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"the client of {self._failures.server} is closed; make another one")


async def _round_trip(
    connection: Connection, head: SecretValue[bytes], request: TransportRequest, deadline: float
) -> IncomingResponse:
    """Send a request, and wait for the head of its answer, or for the news that there will be none."""
    response = connection.send(head, request, deadline)
    try:
        while not response.status and response.fault is None:
            await response.changed()
    except BaseException:
        response.drop()
        raise
    return response


def _agent(request: TransportRequest) -> str:
    """Who is asking, for a proxy."""
    found = next((value for name, value in request.headers if name.lower() == "user-agent"), "")
    return found if isinstance(found, str) else ""


def _heads(server: ServerAddress, proxy: Proxy | None, *, compression: bool) -> RequestHeadEncoder:
    headers: dict[str, str | Secret] = {
        "Host": server.authority,
        "Accept-Encoding": "gzip" if compression else "identity",
    }
    base = server.prefix
    if proxy is not None and not proxy.is_socks and not server.is_secure:
        base = f"http://{server.authority}{base}"
        headers |= proxy.headers()
    return RequestHeadEncoder(base, headers)
