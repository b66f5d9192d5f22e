"""The contract over aiohttp: one server, and a pool of connections to it."""

from __future__ import annotations

import asyncio
import io
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from weakref import ref

import aiohttp
from yarl import URL

from masthead.errors import ClosedError, ConfigError, InvalidValueError
from masthead.transport.body import PACKINGS, HttpResponse, drop
from masthead.transport.failures import Failures, LostError
from masthead.transport.proxy import Proxy
from masthead.transport.sockets import Sockets
from masthead.transport.socks import SocksConnector

if TYPE_CHECKING:
    import socket
    import ssl

    from masthead.transport.contract import Request, TlsSource
    from masthead.transport.sockets import AddressInfo

__all__ = ["HttpTransport"]

_PORTS: Final = {"http": 80, "https": 443}
_ALL_AT_ONCE: Final = 2**20
"""Up to how many bytes a body is handed to the loop in one piece; aiohttp warns above."""
_LONGEST_FIELD: Final = 2**16
"""How long a line of an answer's head may be."""

# aiohttp sends these again when a connection breaks. They change something, so whether that may be is not its to say.
_ONCE_ONLY: Final = frozenset({"PUT", "DELETE"})


class HttpTransport:
    """Sends requests to one server over HTTP/1.1, on connections that it keeps.

    Guarantees:
        Redirects are not followed: they could carry the credentials elsewhere. Proxies and credentials come from the
        arguments alone, never from the environment. A request that changes something is sent at most once; a ``GET``
        is repeated once when a kept connection turns out to be dead.

    Cancellation:
        Cancelling `send`, or the reading of an answer, closes the connection that was in use and no other.

    Threads:
        Belongs to the event loop that first sends with it.

    Args:
        server: The server's address, perhaps with a path, which goes before every target.
        tls: Where TLS settings come from; None for what the machine trusts. Asked before each request: when it has
            other settings, requests use new connections, running streams go on, and the old ones are closed when
            idle.
        server_name: The name that the server's certificate must have, if it is not the address'.
        proxy_url: Through whom to go: ``http``, ``https``, ``socks5`` or ``socks5h``, with user and password if need
            be. The same TLS settings count for an ``https`` proxy.
        compression: Whether to ask for compressed answers.
        connections: How many connections may be open at once, streams included; 0 for any number.
        connect_timeout: How many seconds connecting may take, the wait for a free connection included.
        idle: How many seconds a connection is kept without use.

    Raises:
        ConfigError: if an address is not one.
    """

    def __init__(
        self,
        server: str,
        *,
        tls: TlsSource | None,
        server_name: str = "",
        proxy_url: str = "",
        compression: bool = True,
        connections: int = 100,
        connect_timeout: float = 30.0,
        idle: float = 30.0,
    ) -> None:
        self._base, place = _split(server)
        self._tls = tls
        self._server_name = server_name or None
        self._proxy = Proxy.parse(proxy_url) if proxy_url else None
        self._connections = connections
        self._connect_timeout = connect_timeout
        self._idle = idle
        self._failures = Failures(place, self._proxy, connect_timeout)
        self._session: aiohttp.ClientSession | None = None
        self._closed = False
        self._sending = 0
        self._sockets = Sockets()
        self._readers: dict[asyncio.Future[None], ref[HttpResponse]] = {}
        # A proxy tunnels what is encrypted, and learns who we are from the first words; the rest it passes on itself.
        forward = self._proxy if self._proxy is not None and not self._proxy.is_socks else None
        shown = forward.headers() if forward is not None else {}
        is_tunnelled = self._base.startswith("https:")
        self._proxy_url = URL(forward.url) if forward is not None else None
        self._tunnel_headers = shown if is_tunnelled else None
        self._headers = {"Accept-Encoding": "gzip" if compression else "identity"}
        if not is_tunnelled:
            self._headers |= shown

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
        if (request.total is not None and request.total <= 0) or (
            request.silence is not None and request.silence <= 0
        ):
            raise self._failures.out_of_time(request)
        context = await self._tls.context() if self._tls is not None else True
        self._sending += 1
        try:
            answer = await self._ask(request, context)
        except (aiohttp.ClientError, TimeoutError, RuntimeError, ValueError, AssertionError) as error:
            failure = self._explain(error, request)
        except asyncio.CancelledError:
            # Closing the pool cancels those who wait for a connection, although nobody cancelled their tasks.
            task = asyncio.current_task()
            if not self._closed or task is None or task.cancelling():
                raise
            failure = self._closed_error()
        else:
            return self._received(answer, request)
        finally:
            self._sending -= 1
        raise failure  # here, so that it drags along no error of the library's, whose repr may hold credentials

    async def close(self) -> None:
        """Close every connection, and wake whoever reads from one. Closing twice does nothing."""
        self._closed = True
        for stream in self._streams():
            stream.close()
        if self._session is not None:
            await self._session.close()
        await self._sockets.finish()

    async def _ask(self, request: Request, context: ssl.SSLContext | bool) -> aiohttp.ClientResponse:
        session = self._session
        if session is None:
            session = self._session = self._start()
        body = request.body
        return await session.request(
            request.method,
            URL(self._base + request.target, encoded=True),
            headers=request.headers,
            data=body if body is None or len(body) <= _ALL_AT_ONCE else io.BytesIO(body),
            ssl=context,
            server_hostname=self._server_name,
            timeout=_timeout(request.total, request.silence, self._connect_timeout),
            allow_redirects=False,
            proxy=self._proxy_url,
            proxy_headers=self._tunnel_headers,
            middlewares=_NOT_TWICE if request.method in _ONCE_ONLY else None,
        )

    def _received(self, answer: aiohttp.ClientResponse, request: Request) -> HttpResponse:
        encoding = answer.headers.get("Content-Encoding", "").lower()
        if encoding not in PACKINGS:
            drop(answer)
            raise self._failures.unknown_packing(encoding, request)
        packing = PACKINGS[encoding]
        response = HttpResponse(answer, request, self._failures, packing() if packing else None)
        if answer.connection is not None and answer.connection.protocol is not None:
            self._watch(answer.connection.protocol.closed, response)  # else the whole body is here
        return response

    def _watch(self, end: asyncio.Future[None] | None, response: HttpResponse) -> None:
        """Tell a reader when its connection is lost: aiohttp forgets to, where a chunk in the middle is garbled."""
        if end is None:
            response.lose()
            return
        if end not in self._readers:  # one for each connection, not one for each answer
            end.add_done_callback(self._lost)
        self._readers[end] = ref(response)

    def _lost(self, end: asyncio.Future[None]) -> None:
        response = self._readers.pop(end)()
        if not end.cancelled():
            end.exception()  # or asyncio would complain that nobody looked
        if response is not None:
            response.lose()

    def _streams(self) -> list[HttpResponse]:
        found = [each() for each in self._readers.values()]
        return [response for response in found if response is not None and response.is_streaming]

    def _start(self) -> aiohttp.ClientSession:
        """Open the pool, inside the loop that it will belong to."""
        self._ensure_open()  # it may have been closed while the TLS settings were waited for
        return aiohttp.ClientSession(
            connector=self._connector(),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            max_line_size=_LONGEST_FIELD,
            max_field_size=_LONGEST_FIELD,
        )

    def _connector(self) -> aiohttp.BaseConnector:
        if self._proxy is not None and self._proxy.is_socks:
            return SocksConnector(
                self._proxy,
                limit=self._connections,
                keepalive_timeout=self._idle,
                socket_factory=self._open_socket,
            )
        return aiohttp.TCPConnector(
            limit=self._connections, keepalive_timeout=self._idle, socket_factory=self._open_socket
        )

    def _open_socket(self, address: AddressInfo) -> socket.socket:
        self._ensure_open()  # closing breaks connections, and aiohttp would make new ones to try again
        return self._sockets.open(address)

    def _explain(self, error: Exception, request: Request) -> Exception:
        if self._closed:
            return self._closed_error()
        if isinstance(error, aiohttp.ConnectionTimeoutError) and self._is_crowded():
            return self._failures.crowded(request, self._connections)
        if isinstance(error, (aiohttp.ClientError, TimeoutError)):
            return self._failures.sending(error, request)
        if isinstance(error, ValueError):
            return InvalidValueError(f"{self._failures.what(request)}: a header cannot be sent: {error}")
        return error  # used from another loop, or a bug

    def _is_crowded(self) -> bool:
        return 0 < self._connections < len(self._streams()) + self._sending

    def _ensure_open(self) -> None:
        if self._closed:
            raise self._closed_error()

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"the client of {self._failures.server} is closed; make another one")


def _split(server: str) -> tuple[str, str]:
    """What goes before every target, and ``host:port`` for messages."""
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError as error:
        raise ConfigError(
            f"the server's address is not one ({error}); write it as https://host:port"
        ) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ConfigError("the server's address needs a scheme and a host; write it as https://host:port")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = f"{host}:{port or _PORTS[parts.scheme]}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}", place


@lru_cache(maxsize=256)
def _timeout(total: float | None, silence: float | None, connect: float) -> aiohttp.ClientTimeout:
    """Kept, since making one takes as long as everything else that is done here for a request."""
    return aiohttp.ClientTimeout(total=total, connect=connect, sock_connect=connect, sock_read=silence)


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a request again whose connection was lost."""
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise LostError(error) from None


_NOT_TWICE: Final = (_once,)
