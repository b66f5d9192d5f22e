"""The REST client: authenticates and sends calls, retries them where that is safe, and raises failures as errors."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl

import msgspec

from masthead._errors.base import format_seconds
from masthead._meta.secret import Secret
from masthead._meta.v1 import StatusDetails
from masthead._module import set_module
from masthead._rest.call import JSON, Call, Subject
from masthead._rest.call_guard import admit_call, explain_closed
from masthead._rest.call_metrics import CallMetrics
from masthead._rest.headers import has_header, merged
from masthead._rest.paths import encoded, logged
from masthead._rest.proxied import PeekedResponse, ProxyResponse
from masthead._rest.rate_limiter import Deadline, RateLimiter
from masthead._rest.response import Response, failure, read_bounded, refuse_other_content, refuse_unreadable
from masthead._rest.response_stream import ResponseStream
from masthead._rest.settings import RestSettings, default_user_agent
from masthead._rest.warning_handler import WarningHandler
from masthead._rest.write_observer import write_observer
from masthead._sansio import retry
from masthead._transport.contract import TransportRequest, UpgradedResponse
from masthead.errors import (
    ClosedError,
    ConnectError,
    DeadlineError,
    MastheadError,
    ProtocolError,
    ResponseTooLargeError,
    TransportError,
)
from masthead.metrics import NO_METRICS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from masthead._auth.credentials import Credentials
    from masthead._transport.contract import Transport, TransportResponse
    from masthead._transport.websocket import Handshake, WebSocket

__all__ = ["RestClient"]

_log: Final = logging.getLogger("masthead.rest")
_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_UNAUTHORIZED: Final = 401
_SWITCHING: Final = 101
_WEBSOCKET_READ_TIMEOUT: Final = 60.0
"""Seconds without a byte, also of an answer to a ping, after which the peer of a WebSocket is dead."""
_PINGS: Final = 4
"""How many pings are sent within that time."""
_NOT_MODIFIED: Final = 304
"""Counts as success for a request with If-None-Match."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Failed:
    """A failed attempt.

    Attributes:
        error: The error to raise, if it was the last attempt.
        outcome: What the retry policy decides on.
        authorization: The ``Authorization`` header that was sent; empty if it was not the client's own.
    """

    error: MastheadError
    outcome: retry.ResponseHead | TransportError
    authorization: Secret

    @property
    def is_unauthorized(self) -> bool:
        """Whether the server rejected the credentials."""
        return isinstance(self.outcome, retry.ResponseHead) and self.outcome.status == _UNAUTHORIZED


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
        random: Callable[[], float] = random.random,
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
        self._transport = transport
        self._credentials = credentials
        agent = self.settings.user_agent or default_user_agent()
        self._headers = (("User-Agent", agent), *headers)
        self._random = random
        self._rate_limiter = RateLimiter(self.settings.rate_limit(), server)
        self._warning_handler = WarningHandler(self.settings.on_warning, server)
        metrics = self.settings.metrics or NO_METRICS
        self._metrics = None if metrics is NO_METRICS else CallMetrics(metrics, server)
        self._closed = False
        self.server: str = server
        self._origin = origin
        self._has_reached = False

    @property
    def has_reached(self) -> bool:
        """Whether the server has ever responded."""
        return self._has_reached

    def wrap_transport(self, wrap: Callable[[Transport], Transport]) -> None:
        """Put something between the client and its transport, such as a recorder of requests, before the first call."""
        self._transport = wrap(self._transport)

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
        response = await self._with_retries(call, self._read, is_stream=False)
        if response.status != _NOT_MODIFIED and call.method != "HEAD" and call.wants_json:
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
        return await self._with_retries(call, self._read_proxied, is_stream=False)

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
        stream = await self._with_retries(call, self._stream, is_stream=True)
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
        return await self._with_retries(
            upgrade, functools.partial(self._upgraded, handshake), is_stream=True, is_upgrade=True
        )

    async def get(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """GET a path.

        Args:
            path: The path, already escaped.
            query: Query parameters, not escaped.
            accept: The ``Accept`` header.
            headers: Additional headers. A secret value, such as another ``Authorization``, can be a
                `masthead.auth.Secret`, which is hidden in tracebacks.
            timeout: Timeout of the whole call, in seconds; None for the client's default.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("GET", path, query, accept=accept, headers=headers, timeout=timeout))

    async def delete(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """DELETE a path; DeleteOptions go into the body.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("DELETE", path, query, body, headers=headers, timeout=timeout))

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """POST a body to a path.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("POST", path, query, body, content_type, headers=headers, timeout=timeout))

    async def put(
        self,
        path: str,
        body: bytes,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """PUT a body to a path.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("PUT", path, query, body, content_type, headers=headers, timeout=timeout))

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """PATCH a path; the content type names the kind of patch.

        Raises:
            MastheadError: As `call`.
        """
        return await self.call(_raw("PATCH", path, query, body, content_type, headers=headers, timeout=timeout))

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Make a call with any HTTP method. The path may contain a query.

        Raises:
            MastheadError: As `call`; or if the path is invalid.
        """
        return await self.call(
            _raw(method, path, query, body, content_type, accept=accept, headers=headers, timeout=timeout)
        )

    async def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = "*/*",
        headers: Mapping[str, str | Secret] | None = None,
        timeout: float | None = None,
        read_timeout: float | None = None,
    ) -> ResponseStream:
        """GET a path, and read the response as it arrives.

        ::

            async with await client.rest.stream("/openapi/v2") as response:
                async for chunk in response.chunks():
                    print(len(chunk))

        Args:
            path: The path, already escaped.
            query: Query parameters, not escaped.
            accept: The ``Accept`` header.
            headers: Additional headers.
            timeout: Seconds until the response begins; None for the client's default.
            read_timeout: Seconds without a byte after which the connection is considered dead; None for the client's
                default.

        Raises:
            MastheadError: As `call`.
        """
        call = _raw("GET", path, query, accept=accept, headers=headers, timeout=timeout)
        return await self.open(msgspec.structs.replace(call, read_timeout=read_timeout))

    async def close(self) -> None:
        """Close all connections, and end calls that wait. Closing twice does nothing."""
        self._closed = True
        self._rate_limiter.close()
        await self._transport.close()

    async def _with_retries(
        self,
        call: Call,
        use: Callable[[Call, TransportResponse], Awaitable[T]],
        *,
        is_stream: bool,
        is_upgrade: bool = False,
    ) -> T:
        """Send a call, retry it according to the policy, and hand a successful response to `use`."""
        if self._closed:
            raise ClosedError(f"{call.subject}: {explain_closed()}")
        deadline = Deadline(self.settings.timeout if call.timeout is None else call.timeout)
        attempts = self.settings.attempts if call.attempts is None else call.attempts
        # A 401 refreshes credentials once, outside the retry policy; never those that the caller sent.
        may_renew = not has_header(call.headers, "authorization")
        before: MastheadError | None = None
        attempt = 0
        while True:
            attempt += 1
            result = await self._attempt(call, use, deadline, is_stream=is_stream, is_upgrade=is_upgrade)
            if not isinstance(result, _Failed):
                return result
            if may_renew and result.is_unauthorized:
                may_renew = False
                if await self._rate_limiter.until_closed(self._credentials.renew(result.authorization), deadline):
                    continue
            decision = retry.decide(
                call.method,
                result.outcome,
                attempt=attempt,
                attempts=attempts,
                remaining=deadline.left(),
                random=self._random,
                stream=is_stream,
                has_reached=self._has_reached,
            )
            if isinstance(decision, retry.GiveUp):
                raise _last(result.error, attempt, before)
            # A server that asks for a retry is normal operation; a lost connection is worth a warning. If the server
            # was never reached, the error follows soon and says it all.
            is_lost = isinstance(result.error, TransportError) and self._has_reached
            level = logging.WARNING if is_lost else logging.INFO
            _log.log(
                level,
                "%s: %s: %s; retrying in %.1f s",
                self.server,
                call.subject,
                decision.why,
                decision.after,
            )
            before = result.error
            await self._rate_limiter.pause(decision.after)

    async def _attempt(
        self,
        call: Call,
        use: Callable[[Call, TransportResponse], Awaitable[T]],
        deadline: Deadline,
        *,
        is_stream: bool,
        is_upgrade: bool,
    ) -> T | _Failed:
        authorization = Secret()
        try:
            # The rate limit before the credentials, which could expire while the call waits.
            await self._rate_limiter.wait(deadline.left())
            # The caller's own header wins; credentials would be obtained for nothing, perhaps by running a
            # plugin.
            if not has_header(call.headers, "authorization"):
                authorization = await self._rate_limiter.until_closed(self._credentials.authorization(), deadline)
            # After all waiting: the caller's right to act may have ended meanwhile.
            with admit_call(call.subject):
                response = await self._send(
                    call, authorization, deadline.left(), is_stream=is_stream, is_upgrade=is_upgrade
                )
                self._has_reached = True
                status = response.status
                # A 304 is an answer only to a call that has asked with If-None-Match.
                if status < 300 or (status == _NOT_MODIFIED and has_header(call.headers, "if-none-match")):
                    return await use(call, response)
                if call.is_proxied:
                    response = PeekedResponse(response)
                    if not await response.is_refusal():
                        return await use(call, response)
                return await self._rejected(call, response, authorization)
        except TransportError as lost:
            return _Failed(_with_subject(call, lost, self._address_origin(lost)), lost, authorization)
        except MemoryError:
            # Outside the handler, whose traceback holds on to what was read.
            pass
        raise ResponseTooLargeError(
            f"{call.subject}: the response does not fit into the memory of this process; read it in pages with limit=, or set "
            "max_response_bytes to refuse it earlier"
        )

    def _address_origin(self, error: TransportError) -> str:
        """Where the address was configured, if the server was never reached."""
        is_unreached = isinstance(error, ConnectError) and not self._has_reached
        return f" (the address is from {self._origin})" if is_unreached and self._origin else ""

    async def _read(self, call: Call, response: TransportResponse) -> Response:
        try:
            body = await response.read()
        except BaseException:
            # Also on cancellation, or it would leak.
            response.close()
            raise
        return Response(
            response.status,
            body,
            response.header("Content-Type"),
            response.header("ETag"),
            self._warning_handler.read(call, response),
            call.subject,
        )

    async def _read_proxied(self, call: Call, response: TransportResponse) -> ProxyResponse:
        try:
            body = await response.read()
        except BaseException:
            response.close()
            raise
        return ProxyResponse(call, response, body)

    async def _stream(self, call: Call, response: TransportResponse) -> ResponseStream:
        return ResponseStream(call, response, self._warning_handler.read(call, response))

    async def _upgraded(self, handshake: Handshake, call: Call, response: TransportResponse) -> WebSocket:
        from masthead._transport.websocket import WebSocket

        self._warning_handler.read(call, response)
        try:
            if response.status != _SWITCHING or not isinstance(response, UpgradedResponse):
                raise ProtocolError(
                    f"the server does not speak WebSockets here (HTTP {response.status}); look for a proxy in between, or "
                    "an API server that is too old"
                )
            protocol = handshake.check(response)
        except ProtocolError:
            response.close()
            raise
        interval = (call.read_timeout or _WEBSOCKET_READ_TIMEOUT) / _PINGS
        explain = functools.partial(_with_subject, call)
        return WebSocket(response, protocol, ping_interval=interval, explain=explain)

    async def _rejected(self, call: Call, response: TransportResponse, authorization: Secret) -> _Failed:
        self._warning_handler.read(call, response)
        header = response.header
        body = await read_bounded(response)
        error = failure(call, response.status, header("Content-Type"), body, header("Location"))
        retry_after = header("Retry-After") or (f"{error.retry_after:.0f}" if error.retry_after else "")
        if error.retry_after is None and (seconds := retry.parse_retry_after(retry_after, date=header("Date"))):
            # A request rejected before it was decoded, as by priority and fairness, has the header but no Status.
            error.details = error.details or StatusDetails()
            error.details.retry_after_seconds = round(seconds)
        outcome = retry.ResponseHead(response.status, retry_after, header("Date"))
        return _Failed(error, outcome, authorization)

    def _send(
        self, call: Call, authorization: Secret, left: float, *, is_stream: bool, is_upgrade: bool
    ) -> Awaitable[TransportResponse]:
        """Send a request; the deadline of a stream covers only the head, because its body may last for hours."""
        request = self._request(call, authorization, left, is_stream=is_stream, is_upgrade=is_upgrade)
        sending = self._send_within(call, request, left) if is_stream else self._transport.send(request)
        if self._metrics is not None:
            sending = self._metrics.measure(call.method, sending)
        return self._send_logged(call, sending) if _log.isEnabledFor(logging.DEBUG) else sending

    async def _send_logged(self, call: Call, sending: Awaitable[TransportResponse]) -> TransportResponse:
        now = asyncio.get_running_loop().time
        start = now()
        response = await sending
        elapsed = now() - start
        _log.debug(
            "%s: %s %s: %d after %.3f s",
            self.server,
            call.method,
            logged(call.path, call.query),
            response.status,
            elapsed,
        )
        return response

    async def _send_within(self, call: Call, request: TransportRequest, left: float) -> TransportResponse:
        try:
            async with asyncio.timeout(None if left == math.inf else left):
                return await self._transport.send(request)
        except TimeoutError as error:
            # Our own DeadlineError is a TimeoutError, too, and says more.
            if isinstance(error, MastheadError):
                raise
        raise DeadlineError(
            f"no response began within {format_seconds(left)} s; raise the timeout, or check the network path to the server",
            verb=call.method,
            url=call.path,
        )

    def _request(
        self, call: Call, authorization: Secret, left: float, *, is_stream: bool, is_upgrade: bool
    ) -> TransportRequest:
        headers = merged(self._headers, call.headers)
        if call.body is not None and not has_header(call.headers, "content-type"):
            headers.append(("Content-Type", call.content_type))
        if not has_header(call.headers, "accept"):
            headers.append(("Accept", call.accept))
        if authorization:
            headers.append(("Authorization", authorization))
        target = encoded(call.path, call.query)
        # A stream has no deadline as a whole: it may go on for as long as bytes arrive.
        if is_stream:
            read_timeout = self.settings.read_timeout if call.read_timeout is None else call.read_timeout
            # Also where it is infinite: a request without one counts as a call, and takes a place in the pool.
            return TransportRequest(
                call.method, target, headers, call.body, read_timeout=read_timeout, is_upgrade=is_upgrade
            )
        return TransportRequest(call.method, target, headers, call.body, timeout=_finite(left))


def _raw(
    method: str,
    path: str,
    query: Mapping[str, str] | None = None,
    body: bytes | None = None,
    content_type: str = JSON,
    *,
    accept: str = JSON,
    headers: Mapping[str, str | Secret] | None = None,
    timeout: float | None = None,
) -> Call:
    """A call of a raw path; a query in the path comes before `query`."""
    path, has_query, text = path.partition("?")
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
        timeout=timeout,
    )


def _finite(seconds: float) -> float | None:
    return None if seconds == math.inf else seconds


def _with_subject(call: Call, error: TransportError, more: str = "") -> TransportError:
    """The same error, with the call's subject in place of method and path."""
    message = str(error).removeprefix(f"{call.method} {call.path}: ")
    described = type(error)(f"{call.subject}: {message}{more}", verb=call.method, url=call.path)
    described.__cause__ = error.__cause__
    return described


def _last(error: MastheadError, attempts: int, before: MastheadError | None) -> MastheadError:
    """The error of the last attempt, with notes about earlier ones."""
    if isinstance(error, TransportError):
        error.attempts = attempts
    if attempts > 1:
        error.add_note(f"This was attempt {attempts}.")
    if before is not None and str(before) != str(error):
        error.add_note(f"The previous attempt: {before}")
    return error
