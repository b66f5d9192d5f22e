"""The REST client: authenticates and sends calls, retries them where that is safe, and raises failures as errors."""

from __future__ import annotations

import asyncio
import functools
import time
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, Unpack
from urllib.parse import parse_qsl

import msgspec

from masthead._errors.options import explain_options
from masthead._module import set_module
from masthead._rest.attempts import AttemptSender, with_subject
from masthead._rest.authenticator import Authenticator
from masthead._rest.call import JSON, Call, Subject
from masthead._rest.call_guard import explain_closed
from masthead._rest.call_metrics import CallMetrics
from masthead._rest.call_observer import call_observer
from masthead._rest.deadline import Deadline
from masthead._rest.lifetime import ClientLifetime
from masthead._rest.options import RequestOptions, RequestParameters
from masthead._rest.prepared_call import prepare_call
from masthead._rest.proxied import ProxyResponse
from masthead._rest.rate_limiter import RateLimiter
from masthead._rest.response import Response, refuse_other_content, refuse_unreadable
from masthead._rest.response_stream import ResponseStream
from masthead._rest.retry_loop import RetryRunner
from masthead._rest.settings import RestSettings, default_user_agent
from masthead._rest.warning_handler import WarningHandler
from masthead._rest.write_observer import write_observer
from masthead._sansio import randomness
from masthead._transport.contract import UpgradedResponse
from masthead.errors import ClosedError, ProtocolError
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from masthead._auth.credentials import Credentials
    from masthead._transport.contract import Transport, TransportResponse
    from masthead._transport.websocket import Handshake, WebSocket

__all__ = ["RestClient"]

_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SWITCHING: Final = 101
_WEBSOCKET_READ_TIMEOUT: Final = 60.0
"""Seconds without a byte, also of an answer to a ping, after which the peer of a WebSocket is dead."""
_PINGS: Final = 4
"""How many pings are sent within that time."""

T = TypeVar("T")


@set_module("masthead.aio.rest")
class RestClient:
    """A REST client of one API server, authenticated as one user.

    Its verbs take any path, for requests that no other client covers::

        response = await client.rest.get("/version")
        response.json()["gitVersion"]

    Guarantees:
        A call is retried according to the table in `masthead._sansio.retry`, with the same body and within
        its timeout. On a 401, credentials are refreshed and the call is retried once; if credentials are
        configured but cannot be obtained, nothing is sent. Every response is read to its end or closed.

    Cancellation:
        Cancelling a call cancels whatever it waits for, and returns its rate limiter token.

    Threads:
        One instance belongs to one event loop; calls may be made at the same time.
    """

    def __init__(
        self,
        transport: Transport,
        credentials: Credentials,
        *,
        settings: RestSettings | None = None,
        headers: Sequence[tuple[str, str]] = (),
        random: Callable[[], float] = randomness.random,
        server: str = "the API server",
        origin: str = "",
    ) -> None:
        """Create a client over a transport.

        Args:
            transport: Sends the requests; closed with the client.
            credentials: The source of the ``Authorization`` header.
            settings: Timeouts, retries and limits.
            headers: Headers of every call, such as those for impersonation.
            random: The source of jitter.
            server: The server's ``host:port``, for logs.
            origin: Where its address was configured, for the error if it cannot be reached.
        """
        self.settings: RestSettings = settings or RestSettings()
        self.server: str = server
        agent = self.settings.user_agent or default_user_agent()
        self._headers = (("User-Agent", agent), *headers)
        self._lifetime = ClientLifetime()
        self._warning_handler = WarningHandler(self.settings.on_warning, server)
        limit = self.settings.rate_limit()
        metrics = self.settings.metrics or NO_METRICS
        authenticator = Authenticator(credentials, self._lifetime)
        self._sender = AttemptSender(
            transport,
            authenticator,
            self._warning_handler,
            None if limit is None else RateLimiter(limit, self._lifetime, server),
            None if metrics is NO_METRICS else CallMetrics(metrics, server),
            server=server,
            origin=origin,
        )
        self._retries = RetryRunner(self._sender, authenticator, self._lifetime, random, server)

    @property
    def has_reached(self) -> bool:
        """Whether the server has ever responded."""
        return self._sender.has_reached

    def wrap_transport(self, wrap: Callable[[Transport], Transport]) -> None:
        """Wrap the transport, as with a recorder of requests, before the first call."""
        self._sender.transport = wrap(self._sender.transport)

    async def call(self, call: Call) -> Response:
        """Make a call and read its response.

        Raises:
            StatusError: If the server returns an error status.
            TransportError: If no usable response arrives.
            AuthError: If credentials cannot be obtained.
            ConfigError: If the CA certificate cannot be read.
            ArgumentError: If a header or the query holds characters that cannot be sent.
            ClosedError: If the client is closed.
        """
        observer = call_observer.get()
        began = 0.0 if observer is None else time.monotonic()
        try:
            response = await self._run(call, self._read)
        except Exception as error:
            if observer is not None:
                observer.called(call, None, error, time.monotonic() - began)
            raise
        if observer is not None:
            observer.called(call, response, None, time.monotonic() - began)
        refuse_unreadable(call, response)
        if call.method != "GET" and (observe := write_observer.get()) is not None:
            observe(self, call, response)
        return response

    async def exchange(self, call: Call) -> ProxyResponse:
        """Make a call through the API server's proxy, and read the backend's response, whatever its status.

        Args:
            call: A call that `is_proxied`.

        Raises:
            StatusError: If the API server itself returns an error status.
            TransportError: If no usable response arrives.
            AuthError: If credentials cannot be obtained.
            ConfigError: If the CA certificate cannot be read.
            ArgumentError: If a header or the query holds characters that cannot be sent.
            ClosedError: If the client is closed.
        """
        return await self._run(call, self._read_proxied)

    async def open(self, call: Call) -> ResponseStream:
        """Make a call whose response is streamed.

        The call's timeout applies until the response begins; from then on, only its read timeout.

        Raises:
            StatusError: If the server returns an error status.
            TransportError: If no usable response arrives.
            AuthError: If credentials cannot be obtained.
            ConfigError: If the CA certificate cannot be read.
            ArgumentError: If a header or the query holds characters that cannot be sent.
            ClosedError: If the client is closed.
        """
        # A read timeout even where it is infinite: a request without one counts as a call, with a place in the pool.
        read_timeout = self.settings.read_timeout if call.read_timeout is None else call.read_timeout
        stream = await self._run(call, self._stream, read_timeout)
        try:
            if call.wants_json:
                refuse_other_content(call, stream.content_type, None)
        except ProtocolError:
            stream.close()
            raise
        return stream

    async def connect(self, call: Call, protocols: Sequence[str]) -> WebSocket:
        """Open a WebSocket, with the credentials, certificates and proxy of every other call.

        The call's timeout applies until it is open. It is retried only if the server cannot have acted on it.

        Args:
            call: A ``GET``; its headers are completed by those of the handshake.
            protocols: The subprotocols to offer, the preferred one first.

        Raises:
            StatusError: If the server returns an error status.
            TransportError: If no usable response arrives, or the server does not speak WebSockets.
            AuthError: If credentials cannot be obtained.
            ConfigError: If the CA certificate cannot be read.
            ArgumentError: If a header or the query holds characters that cannot be sent.
            ClosedError: If the client is closed.
        """
        # Only those who open one pay for the library.
        from masthead._transport.websocket import Handshake

        handshake = Handshake(protocols)
        limit = _WEBSOCKET_READ_TIMEOUT if call.read_timeout is None else call.read_timeout
        upgrade = msgspec.structs.replace(
            call, headers=(*call.headers, *handshake.headers), accept="*/*", read_timeout=limit
        )
        return await self._run(upgrade, functools.partial(self._upgrade, handshake), limit, is_upgrade=True)

    async def get(self, path: str, *, accept: str = JSON, **options: Unpack[RequestOptions]) -> Response:
        """GET a path.

        Args:
            path: The path, already escaped.
            accept: The ``Accept`` header.
            options: ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("GET", path, accept=accept, **options))

    async def delete(self, path: str, *, body: bytes | None = None, **options: Unpack[RequestOptions]) -> Response:
        """DELETE a path; DeleteOptions go into the body. The other options are those of `get`.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("DELETE", path, body, **options))

    async def post(
        self, path: str, body: bytes, *, content_type: str = JSON, **options: Unpack[RequestOptions]
    ) -> Response:
        """POST a body to a path. The other options are those of `get`.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("POST", path, body, content_type, **options))

    async def put(
        self, path: str, body: bytes, *, content_type: str = JSON, **options: Unpack[RequestOptions]
    ) -> Response:
        """PUT a body to a path. The other options are those of `get`.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("PUT", path, body, content_type, **options))

    async def patch(self, path: str, body: bytes, *, content_type: str, **options: Unpack[RequestOptions]) -> Response:
        """PATCH a path; the content type names the kind of patch. The other options are those of `get`.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("PATCH", path, body, content_type, **options))

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        **options: Unpack[RequestOptions],
    ) -> Response:
        """Make a call with any HTTP method. The path may contain a query. The other options are those of `get`.

        Raises:
            MastheadError: As `call`; or if the path is invalid.
        """
        return await self.call(_raw(method, path, body, content_type, accept=accept, **options))

    async def stream(
        self, path: str, *, accept: str = "*/*", read_timeout: float | None = None, **options: Unpack[RequestOptions]
    ) -> ResponseStream:
        """GET a path, and read the response as it arrives.

        ::

            async with await client.rest.stream("/openapi/v2") as response:
                async for chunk in response.chunks():
                    print(len(chunk))

        Args:
            path: The path, already escaped.
            accept: The ``Accept`` header.
            read_timeout: Seconds without a byte after which the connection is considered dead; None for the client's
                default.
            options: ``query``, ``headers`` and ``timeout``; see `RequestOptions`.

        Raises:
            MastheadError: As `call`.
        """
        call = _raw("GET", path, accept=accept, **options)
        return await self.open(msgspec.structs.replace(call, read_timeout=read_timeout))

    async def close(self) -> None:
        """Close all connections, and end calls that wait. Closing twice does nothing."""
        self._lifetime.close()
        await self._sender.transport.close()

    def _run(
        self,
        call: Call,
        use: Callable[[Call, TransportResponse], Awaitable[T]],
        read_timeout: float | None = None,
        *,
        is_upgrade: bool = False,
    ) -> Awaitable[T]:
        """Send a call, retry it according to the policy, and hand a successful response to `use`."""
        if self._lifetime.is_closed:
            return _refuse(call)
        # Synchronous on purpose: another coroutine would cost every call two frames more.
        settings = self.settings
        return self._retries.run(
            prepare_call(call, self._headers, read_timeout, is_upgrade=is_upgrade),
            use,
            Deadline(settings.timeout if call.timeout is None else call.timeout),
            settings.attempts if call.attempts is None else call.attempts,
        )

    async def _read(self, call: Call, response: TransportResponse) -> Response:
        body = await _read_all(response)
        return Response(
            response.status,
            body,
            response.header("Content-Type"),
            response.header("ETag"),
            self._warning_handler.read(call, response),
            call.subject,
        )

    async def _read_proxied(self, call: Call, response: TransportResponse) -> ProxyResponse:
        return ProxyResponse(call, response, await _read_all(response))

    async def _stream(self, call: Call, response: TransportResponse) -> ResponseStream:
        return ResponseStream(call, response, self._warning_handler.read(call, response))

    async def _upgrade(self, handshake: Handshake, call: Call, response: TransportResponse) -> WebSocket:
        from masthead._transport.websocket import WebSocket

        self._warning_handler.read(call, response)
        try:
            # A proxy in between may answer 200 and drop the upgrade headers.
            if response.status != _SWITCHING or not isinstance(response, UpgradedResponse):
                raise ProtocolError(
                    f"the server does not speak WebSockets here (HTTP {response.status}); look for a proxy in between, "
                    "or an API server that is too old"
                )
            protocol = handshake.check(response)
        except ProtocolError:
            response.close()
            raise
        # Several pings per timeout: a single lost answer must not end the connection.
        interval = (call.read_timeout or _WEBSOCKET_READ_TIMEOUT) / _PINGS
        explain = functools.partial(with_subject, call)
        return WebSocket(response, protocol, ping_interval=interval, explain=explain)


async def _refuse(call: Call) -> NoReturn:
    """Refuse a call of a closed client.

    Raises:
        ClosedError: Always.
    """
    # Code that ignores the refusal, and repeats its call for ever, must not block the event loop.
    await asyncio.sleep(0)
    raise ClosedError(f"{call.subject}: {explain_closed()}")


async def _read_all(response: TransportResponse) -> bytes:
    try:
        return await response.read()
    except BaseException:
        # Also on cancellation, or it would leak.
        response.close()
        raise


def _raw(
    method: str,
    path: str,
    body: bytes | None = None,
    content_type: str = JSON,
    *,
    accept: str = JSON,
    **options: Unpack[RequestOptions],
) -> Call:
    """A call of a raw path; a query in the path comes before `query`."""
    try:
        parameters = RequestParameters(**options)
    except TypeError as error:
        raise explain_options(error, f"a {method} request", RequestParameters, options) from None
    query, headers = parameters.query, parameters.headers
    path, has_query, text = path.partition("?")
    # Blank values count: `?watch` alone is a parameter.
    own = parse_qsl(text, keep_blank_values=True) if has_query else []
    method = method.upper()
    return Call(
        method=method,
        path=path,
        subject=Subject(_VERBS.get(method, method.lower()), path),
        query=(*own, *query.items()) if query else own,
        body=body,
        content_type=content_type,
        accept=accept,
        headers=tuple(headers.items()) if headers else (),
        timeout=parameters.timeout,
    )
