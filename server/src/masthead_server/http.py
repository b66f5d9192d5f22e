"""The HTTP handler: requests in, responses and watch streams out."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead_server import stream
from masthead_server.authentication.impersonation import Impersonation, read_wanted_user
from masthead_server.authentication.protocol_tokens import PROTOCOL_HEADER, mask_protocol_token
from masthead_server.authorization.always_allow import PUBLIC_PATHS
from masthead_server.authorization.requests import authorize_request, check_upgrade
from masthead_server.body import BodyLimiter
from masthead_server.fault import Effect
from masthead_server.fault_responses import FaultContext, to_response
from masthead_server.request_deadline import meet_deadline, read_timeout
from masthead_server.request_metrics import CONTENT_TYPE
from masthead_server.request_origin import CURRENT_ORIGIN, read_origin
from masthead_server.request_recorder import RecordedRequest, RequestRecorder
from masthead_server.requestlog import RequestLogLine
from masthead_server.response_limiter import ResponseLimiter
from masthead_server.response_limits import LARGE_RESPONSE
from masthead_server.stream_faults import CONNECTION_EFFECTS, FaultyTransport
from masthead_server.threads import compute_in_thread
from masthead_server.verbs import bodies
from masthead_server.verbs.watch import Watcher
from masthead_server.web.request_head import BadRequestError
from masthead_server.web.request_parser import TOO_LARGE
from masthead_server.web.response import Response
from masthead_server.wire.encoders import encoder_for
from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.negotiation import negotiate
from masthead_server.wire.request import (
    APPLY_PATCH_TYPE,
    BAD_ESCAPE,
    ApiRequest,
    ApiResponse,
    parse_query,
    status_response,
    warning_header,
)
from masthead_server.wire.request_info import RequestInfo, read_request_info
from masthead_server.wire.user_info import is_unauthenticated

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from masthead_server.authentication.authenticator import RequestAuthenticator
    from masthead_server.authorization.authorizer import Authorizer
    from masthead_server.clock import Clock
    from masthead_server.faults import Faults
    from masthead_server.hosts import AllowedHosts
    from masthead_server.inert_kinds import InertKinds
    from masthead_server.kubelet.connect import Connecter, ConnectHandler
    from masthead_server.request_metrics import RequestMetrics
    from masthead_server.verbs.rest import Rest
    from masthead_server.web.request import Request
    from masthead_server.wire.user_info import UserInfo

__all__ = ["HttpHandler"]

_log: Final = logging.getLogger(__name__)
NOT_MODIFIED: Final = 304


class HttpHandler:
    """Handles requests: authenticates them, reads their bodies, dispatches them and sends the responses.

    Args:
        rest: Dispatches requests to the verbs.
        faults: The faults to inject.
        authenticator: Authenticates requests.
        authorizer: Returns what decides who may send which request.
        hosts: The host names that browsers may use.
        clock: Times bodies out.
        revision: Returns the newest revision.
        on_idle: Called when a request has been handled.
        metrics: Counts requests.
        connecters: What serves subresources that connect a client to a pod, by resource and subresource.
        inert_kinds: Warns of objects that have no effect.
        records_origins: Whether writes are attributed to requests.
    """

    def __init__(  # noqa: PLR0913 - what each request needs
        self,
        rest: Rest,
        faults: Faults,
        *,
        authenticator: RequestAuthenticator,
        authorizer: Callable[[], Authorizer],
        hosts: AllowedHosts,
        clock: Clock,
        revision: Callable[[], int],
        on_idle: Callable[[], object],
        metrics: RequestMetrics,
        connecters: Mapping[tuple[str, str], Connecter],
        inert_kinds: InertKinds,
        records_origins: bool = False,
    ) -> None:
        self.recorder = RequestRecorder()
        self.in_flight: set[RecordedRequest] = set()
        """Requests that have been read and not responded to; a watch is responded to when its stream
        begins."""
        self.watchers: dict[Watcher, RequestInfo] = {}
        """The open watches, and what they are about."""
        self.connections: set[asyncio.Task[object]] = set()
        """The requests that connect a client to a pod, such as an exec."""
        self._connecters = connecters
        self._inert_kinds = inert_kinds
        self._rest = rest
        self._faults = faults
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._impersonation = Impersonation(authorizer)
        self._hosts = hosts
        self._clock = clock
        self._bodies = BodyLimiter(clock)
        self._responses = ResponseLimiter()
        self._revision = revision
        self._on_idle = on_idle
        self._metrics = metrics
        self._records_origins = records_origins

    async def handle(self, incoming: Request) -> None:
        """Handle one request; when this returns, all of the response has been handed to the transport.

        Raises:
            ConnectionError: If the client went away.
        """
        # Before everything else, since the path is logged and recorded: nothing behind this line sees the token, or a
        # near miss.
        incoming.path, path_user = self._authenticator.split_path(incoming.path)
        line = RequestLogLine(incoming)
        if incoming.is_too_large:
            await _send_like_go(incoming, 431, TOO_LARGE, line)
            return
        # Go's net/http refuses such a path before kube-apiserver sees the request.
        if BAD_ESCAPE.search(incoming.path):
            await _send_like_go(incoming, 400, "400 Bad Request", line)
            return
        headers = incoming.headers
        request = ApiRequest(incoming.method, incoming.path, parse_query(incoming.query), headers.to_dict())
        info = read_request_info(request)
        recorded = RecordedRequest(request.method, request.path, incoming.query, info, _without_token(request), b"")
        try:
            # The head alone decides, so that a client without access cannot make the server hold a body.
            identity = self._authenticator.authenticate(request, incoming, path_user)
            if identity.warning:
                request = replace(request, warnings=(identity.warning,))
            recorded.user = identity.user.name
            request = self._impersonate(incoming, request, identity.user)
            if request.user is not identity.user:
                recorded.user, recorded.impersonator = request.user.name, identity.user.name
            self._authorize(incoming, request, may_be_browser=identity.may_be_browser)
        except StatusFailure as failure:
            self.recorder.add(recorded, is_refused=True)
            recorded.code = failure.code
            await _refuse_unread(incoming, request, failure, line)
            return
        # What connects a client to a pod reads the body itself, as it comes.
        if not _may_send_body(request) or not incoming.head.has_body or self._connecter_of(info) is not None:
            await self._handle_whole(incoming, request, recorded, line)
            return
        with self._bodies.reader(incoming) as body:
            try:
                recorded.body = await body.read()
            except StatusFailure as failure:
                await _refuse_unread(incoming, request, failure, line)
                return
            whole = replace(request, body=recorded.body)
            await self._handle_whole(incoming, whole, recorded, line)

    def _impersonate(self, incoming: Request, request: ApiRequest, user: UserInfo) -> ApiRequest:
        """Return a request with the user that it acts as.

        Raises:
            StatusFailure: If its own user may not act as that one.
        """
        wanted = read_wanted_user(incoming.headers, incoming.headers.get_all)
        if wanted is not None:
            user = self._impersonation.act_as(wanted, user, request)
        return replace(request, user=user)

    def _authorize(self, incoming: Request, request: ApiRequest, *, may_be_browser: bool) -> None:
        """Refuse a request that its user may not send, and one of a foreign web page.

        Raises:
            StatusFailure: If the request is refused.
        """
        authorize_request(self._authorizer(), request.user, request)
        # Any web page can send requests without a token, and a browser may have remembered the token as a password.
        if may_be_browser and not _is_public(request):
            self._hosts.check(incoming.headers.get_all("Host"), incoming.headers.get_all("Origin"))

    async def _handle_whole(
        self,
        incoming: Request,
        request: ApiRequest,
        recorded: RecordedRequest,
        line: RequestLogLine,
    ) -> None:
        self.recorder.add(recorded)
        self.in_flight.add(recorded)
        try:
            if bodies.is_slow(request):
                # In a thread, because the event loop serves every other request and watch.
                request = await compute_in_thread(bodies.read_ahead, request)
            await self._respond(incoming, request, recorded, line)
        finally:
            self.in_flight.discard(recorded)
            self._on_idle()

    async def _respond(
        self,
        incoming: Request,
        request: ApiRequest,
        recorded: RecordedRequest,
        line: RequestLogLine,
    ) -> None:
        info = recorded.info
        if self._records_origins:
            CURRENT_ORIGIN.set(read_origin(request, info))
        await self._delay(info, request.body)
        # Chosen now and injected later: the request takes effect, and only its response is lost.
        lost = self._faults.trigger(info, Effect.LOSE, body=request.body)
        try:
            outcome: ApiResponse | Watcher | ConnectHandler
            fault = self._faults.trigger(info, Effect.REFUSE, body=request.body)
            if fault is None or fault.respond is None:
                outcome = await self._dispatch(request, info)
            else:
                refused = fault.respond(FaultContext(info, request, self._revision()))
                # A watch reports this failure as its first event, behind a 200.
                if info.verb == "watch" and fault.is_in_stream and isinstance(refused, StatusFailure):
                    self._begin_response(recorded, line, 200)
                    with suppress(ConnectionError):  # the client went away
                        await stream.send_error_event(incoming, refused)
                    return
                outcome = to_response(refused)
        except StatusFailure as failure:
            outcome = status_response(failure)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets a Status and other requests are served
            _log.exception("%s %s failed: an error in the server itself", recorded.method, recorded.path)
            outcome = status_response(
                StatusFailure(500, "InternalError", "Internal error occurred: see the server's log")
            )
        if lost is not None:
            incoming.connection.abort()
        elif isinstance(outcome, Watcher):
            await self._stream(incoming, outcome, recorded, line)
        elif not isinstance(outcome, ApiResponse):
            await self._connect(incoming, outcome, recorded, line)
        else:
            refusal = self._responses.refuse(request.method, len(outcome.body))
            # The large body is dropped here: the client may not read the refusal either.
            outcome = self._inert_kinds.warn(info, outcome) if refusal is None else _encode_failure(refusal, request)
            outcome = _warn(outcome, request.warnings)
            self._begin_response(recorded, line, outcome.code)
            with self._responses.hold(len(outcome.body)):
                await _send(incoming, outcome)

    async def _delay(self, info: RequestInfo, body: bytes) -> None:
        fault = self._faults.trigger(info, Effect.DELAY, body=body)
        if fault is not None:
            over = asyncio.Event()
            self._clock.call_later(fault.seconds, over.set)
            await over.wait()

    async def _dispatch(self, request: ApiRequest, info: RequestInfo) -> ApiResponse | Watcher | ConnectHandler:
        if request.path == "/metrics":
            return self._show_metrics()
        connecter = self._connecter_of(info)
        if connecter is not None and self._rest.is_served(info):
            request, info = await self._rest.admit_connect(request, info)
            check_upgrade(self._authorizer(), request, info)
            return connecter.connect(request, info)
        response = self._rest.respond(request, info)
        # Only these may take long; a watch has a timeout.
        if info.verb == "watch" or not ("timeout" in request.query or self._rest.may_wait):
            return await response
        try:
            seconds = read_timeout(request)
        except StatusFailure:
            response.close()
            raise
        return await meet_deadline(seconds, response)

    def _connecter_of(self, info: RequestInfo) -> Connecter | None:
        return None if info.group else self._connecters.get((info.resource, info.subresource))

    def _begin_response(self, recorded: RecordedRequest, line: RequestLogLine, code: int) -> None:
        recorded.code = code
        line.write(code)
        is_apply = recorded.method == "PATCH" and recorded.headers.get("content-type", "").startswith(APPLY_PATCH_TYPE)
        self._metrics.count(recorded.info, code, is_apply=is_apply)

    def _show_metrics(self) -> ApiResponse:
        return ApiResponse(200, self._metrics.render(self.watchers.values()), CONTENT_TYPE)

    async def _stream(self, incoming: Request, watch: Watcher, recorded: RecordedRequest, line: RequestLogLine) -> None:
        info = recorded.info
        fault = self._faults.trigger(info, *stream.STREAM_EFFECTS)
        # Asked with every bookmark, because faults are added while a watch is open.
        watch.count_bookmarks = lambda: self._count_bookmarks(info)
        self.watchers[watch] = info
        try:
            socket = await self._open_socket(incoming, recorded, line) if incoming.is_websocket else None
            if incoming.is_websocket and socket is None:
                return
            response = socket or await stream.open_stream(incoming, watch.headers)
            self._begin_response(recorded, line, 200 if socket is None else 101)
            # From here on it is a stream, and quiescence does not wait for its end.
            self.in_flight.discard(recorded)
            with suppress(ConnectionError):  # the client went away, or a fault closed the connection
                with watch:
                    sending = stream.send(incoming, response, watch, fault)
                    await (sending if socket is None else socket.run_until_closed(sending))
                await response.finish()
        finally:
            del self.watchers[watch]

    async def _open_socket(
        self, incoming: Request, recorded: RecordedRequest, line: RequestLogLine
    ) -> stream.EventSocket | None:
        """Accept the WebSocket of a watch; None if its handshake is refused."""
        try:
            return await stream.EventSocket.open(incoming)
        except BadRequestError as error:
            self._begin_response(recorded, line, error.code)
            await incoming.send(Response.of_text(error.code, error.text))
            return None

    async def _connect(
        self, incoming: Request, handler: ConnectHandler, recorded: RecordedRequest, line: RequestLogLine
    ) -> None:
        def begin(code: int) -> None:
            self._begin_response(recorded, line, code)
            # From here on it is a stream, and quiescence does not wait for its end.
            self.in_flight.discard(recorded)
            self._on_idle()

        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            with self._faulty(incoming, recorded.info) as transport:
                await handler.serve(incoming, begin)
                # A silent connection stays open until the client gives up.
                if transport is not None and transport.is_silent:
                    await asyncio.Event().wait()
        finally:
            self.connections.discard(task)

    @contextmanager
    def _faulty(self, incoming: Request, info: RequestInfo) -> Generator[FaultyTransport | None]:
        """Inject a pending fault into the bytes of this connection during the block."""
        connection = incoming.connection
        fault = self._faults.trigger(info, *CONNECTION_EFFECTS)
        if fault is None or connection.transport is None:
            yield None
            return
        faulty = FaultyTransport(connection.transport, connection, fault)
        connection.transport, connection.filter_received = faulty, faulty.receive
        try:
            yield faulty
        finally:
            # The connection may be used for another request.
            connection.filter_received = None
            if connection.transport is faulty:
                connection.transport = faulty.inner
            if faulty.is_silent:
                faulty.abort()

    def _count_bookmarks(self, info: RequestInfo) -> int:
        if self._faults.trigger(info, Effect.HOLD_BOOKMARKS):
            return 0
        repeated = self._faults.trigger(info, Effect.REPEAT_BOOKMARKS)
        return repeated.amount if repeated else 1


async def _send(incoming: Request, outcome: ApiResponse) -> None:
    headers = _headers_of(outcome)
    # A large body goes out in pieces, so that the server buffers one piece per slow client.
    if len(outcome.body) <= LARGE_RESPONSE or incoming.method == "HEAD":
        await incoming.send(Response(outcome.code, outcome.body, headers))
        return
    with suppress(ConnectionError):  # the client went away
        await stream.send_body(incoming, outcome.code, headers, outcome.body)


async def _send_like_go(incoming: Request, code: int, text: str, line: RequestLogLine) -> None:
    """Respond as Go's HTTP server does before any handler sees the request."""
    line.write(code)
    await incoming.send(Response.of_text(code, text, close=True))


async def _refuse_unread(incoming: Request, request: ApiRequest, failure: StatusFailure, line: RequestLogLine) -> None:
    """Refuse a request whose body was not read to its end, and do not wait for the rest of it."""
    line.write(failure.code)
    outcome = _warn(_encode_failure(failure, request), request.warnings)
    await incoming.send(Response(outcome.code, outcome.body, _headers_of(outcome), close=not incoming.body.is_complete))


def _encode_failure(failure: StatusFailure, request: ApiRequest) -> ApiResponse:
    """Make the response of a failure, in the type that the client accepts."""
    outcome = status_response(failure)
    # A client that accepts nothing that the server can write gets JSON.
    with suppress(StatusFailure):
        encoder = encoder_for(negotiate(request.headers.get("accept", "")).content_type, request)
        outcome = replace(outcome, body=encoder.encode(outcome.body), content_type=encoder.content_type)
    return outcome


def _warn(outcome: ApiResponse, warnings: tuple[str, ...]) -> ApiResponse:
    """Add the warnings about the credentials of a request."""
    if not warnings:
        return outcome
    return replace(outcome, headers=(*outcome.headers, *(warning_header(warning) for warning in warnings)))


def _is_public(request: ApiRequest) -> bool:
    return request.path.rstrip("/") in PUBLIC_PATHS


def _may_send_body(request: ApiRequest) -> bool:
    """Whether the body of a request is read: public paths are open to everyone, but without one."""
    return not (is_unauthenticated(request.user) and _is_public(request))


def _without_token(request: ApiRequest) -> dict[str, str]:
    headers = {name: value for name, value in request.headers.items() if name != "authorization"}
    if PROTOCOL_HEADER in headers:
        headers[PROTOCOL_HEADER] = mask_protocol_token(headers[PROTOCOL_HEADER])
    return headers


def _headers_of(outcome: ApiResponse) -> list[tuple[str, str]]:
    """Return the headers of an API response, including the ones on all responses of kube-apiserver."""
    headers: list[tuple[str, str]] = []
    # A 304 has no body, and so no type of one; nor have some other responses.
    if outcome.code != NOT_MODIFIED and outcome.content_type:
        headers.append(("Content-Type", outcome.content_type))
    if outcome.content_type.startswith("text/plain"):
        headers.append(("X-Content-Type-Options", "nosniff"))
    if not any(name == "Cache-Control" for name, _ in outcome.headers):
        headers.append(("Cache-Control", "no-cache, private"))
    return [*headers, *outcome.headers]
