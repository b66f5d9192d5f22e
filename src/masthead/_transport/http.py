"""The contract over HTTP/1.1: one server, and a pool of connections to it."""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import TYPE_CHECKING, Final

from masthead._transport.address import Server
from masthead._transport.body import HttpResponse
from masthead._transport.connection import Connection
from masthead._transport.dialing import Dialer
from masthead._transport.failures import DialError, Failures, Fault
from masthead._transport.heads import Heads
from masthead._transport.pool import Pool
from masthead._transport.proxy import Proxy
from masthead._transport.sockets import Sockets
from masthead._transport.unpacking import PACKINGS
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from masthead._meta.secret import Secret, SecretValue
    from masthead._transport.answer import Answer
    from masthead._transport.contract import Request, TlsSource

__all__ = ["MAX_RESPONSE_BYTES", "HttpTransport"]

_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""What changes nothing, and so may be sent again when a connection that was kept turns out to be dead."""
MAX_RESPONSE_BYTES: Final = 2**30
"""How long a body may be unless somebody says otherwise: a list of a hundred thousand pods has half of it."""
_DEAD: Final = frozenset({Fault.HUNG_UP, Fault.LOST})


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
        address = Server.parse(server)
        proxy = Proxy.parse(proxy_url) if proxy_url else None
        self._tls = tls
        self._is_secure = address.is_secure or (proxy is not None and proxy.scheme == "https")
        self._connections = connections
        self._connect_timeout = connect_timeout
        self._idle = idle
        self._failures = Failures(address.place, proxy, connect_timeout, max_response_bytes)
        self._heads = _heads(address, proxy, compression=compression)
        self._sockets = Sockets()
        self._dialer = Dialer(address, server_name, proxy, self._sockets, connect_timeout)
        self._pool: Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._default: ssl.SSLContext | None = None
        self._connecting: set[asyncio.Timeout] = set()
        self._closed = False

    async def send(self, request: Request) -> HttpResponse:
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
        total, silence = request.total, request.silence
        if (total is not None and total <= 0) or (silence is not None and silence <= 0):
            raise self._failures.out_of_time(request)
        head = self._heads.write(request)
        context = await self._context() if self._is_secure else None
        pool, loop = self._start()
        deadline = math.inf if total is None else loop.time() + total
        connection = pool.take(context, counts=silence is None) or await self._connect(
            request, context, deadline, anew=False
        )
        answer = await _exchange(connection, head, request, deadline)
        if (
            answer.fault in _DEAD
            and not answer.is_begun
            and connection.is_reused
            and request.method in _REPEATABLE
            and not self._closed
        ):
            connection = await self._connect(request, context, deadline, anew=True)
            answer = await _exchange(connection, head, request, deadline)
        return self._received(answer, request, loop)

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

    def _start(self) -> tuple[Pool, asyncio.AbstractEventLoop]:
        """Open the pool, inside the loop that it will belong to."""
        self._ensure_open()  # it may have been closed while the TLS settings were waited for
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool, self._loop = Pool(loop, self._connections), loop
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
        self, request: Request, context: ssl.SSLContext | None, deadline: float, *, anew: bool
    ) -> Connection:
        """Wait for a connection, or make one."""
        pool, loop = self._start()
        limit = loop.time() + self._connect_timeout
        counts = request.silence is None
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
                failure = self._failures.broken(Fault.LATE, None, request)
            else:
                failure = self._failures.not_connected(request)
        finally:
            self._connecting.discard(scope)
        if self._closed:
            failure = self._closed_error()
        raise failure  # here, so that it drags along no other error

    async def _dial(
        self, pool: Pool, loop: asyncio.AbstractEventLoop, request: Request, context: ssl.SSLContext | None
    ) -> Connection:
        connection = Connection(loop, pool, context, self._idle)
        connection.is_counted = request.silence is None
        try:
            await self._dialer.dial(connection, _agent(request))
        except BaseException:
            connection.abort()
            if connection.is_counted:
                pool.leave()
            raise
        pool.add(connection)
        return connection

    def _received(self, answer: Answer, request: Request, loop: asyncio.AbstractEventLoop) -> HttpResponse:
        if not answer.status:
            fault = answer.fault
            if fault is None or fault is Fault.CLOSED or self._closed:
                raise self._closed_error()
            raise self._failures.broken(fault, answer.cause, request)
        packed = answer.headers.get(b"content-encoding")
        if packed is None:
            return HttpResponse(answer, request, self._failures, None, loop)
        encoding = b",".join(packed).decode("latin-1").strip().lower()
        if encoding not in PACKINGS:
            answer.drop()
            raise self._failures.unknown_packing(encoding, request)
        packing = PACKINGS[encoding]
        return HttpResponse(answer, request, self._failures, packing() if packing else None, loop)

    def _ensure_open(self) -> None:
        if self._closed:
            raise self._closed_error()

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"the client of {self._failures.server} is closed; make another one")


async def _exchange(
    connection: Connection, head: SecretValue[bytes], request: Request, deadline: float
) -> Answer:
    """Send a request, and wait for the head of its answer, or for the news that there will be none."""
    answer = connection.ask(head, request, deadline)
    try:
        while not answer.status and answer.fault is None:
            await answer.changed()
    except BaseException:
        answer.drop()
        raise
    return answer


def _agent(request: Request) -> str:
    """Who is asking, for a proxy."""
    found = next((value for name, value in request.headers if name.lower() == "user-agent"), "")
    return found if isinstance(found, str) else ""


def _heads(server: Server, proxy: Proxy | None, *, compression: bool) -> Heads:
    headers: dict[str, str | Secret] = {
        "Host": server.authority,
        "Accept-Encoding": "gzip" if compression else "identity",
    }
    base = server.prefix
    if proxy is not None and not proxy.is_socks and not server.is_secure:
        base = f"http://{server.authority}{base}"
        headers |= proxy.headers()
    return Heads(base, headers)
