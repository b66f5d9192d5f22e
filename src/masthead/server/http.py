"""HTTP: aiohttp's requests in, answers and streams out, and nobody let in without a token."""

from __future__ import annotations

import base64
import logging
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from aiohttp.web_exceptions import HTTPException
from aiohttp.web_protocol import RequestPayloadError
from aiohttp.web_response import Response, StreamResponse

from masthead.server import streaming
from masthead.server.faults import Call, Effect
from masthead.server.refusals import Asked, answer_of
from masthead.server.seen import Requests, Seen
from masthead.server.verbs.bodies import BODY_LIMIT
from masthead.server.verbs.watching import Watch
from masthead.server.wire.failures import Failure, details_of, qualified, quoted
from masthead.server.wire.request import BAD_ESCAPE, Request, parse_query, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.web_request import BaseRequest

    from masthead.server.faults import Faults
    from masthead.server.verbs.rest import Rest
    from masthead.server.wire.request import Answer, Target

__all__ = ["Front"]

_log: Final = logging.getLogger(__name__)
NOT_MODIFIED: Final = 304
_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""What anybody may ask."""


class Front:
    """Takes requests and sends answers.

    Args:
        rest: Does what they ask.
        faults: What is to go wrong.
        token: What must be shown to be let in; None to let everybody in.
        revision: Tells the newest revision.
        on_idle: Called when a request is done.
    """

    def __init__(
        self,
        rest: Rest,
        faults: Faults,
        *,
        token: str | None,
        revision: Callable[[], int],
        on_idle: Callable[[], object],
    ) -> None:
        self.seen = Requests()
        self.under_way: set[Seen] = set()
        """Requests that came in whole and are not answered; a watch is answered when its stream begins."""
        self.watches: dict[Watch, Call] = {}
        """The streams that are open, and what they are about."""
        self._rest = rest
        self._faults = faults
        self._token = token.encode() if token is not None else None
        self._revision = revision
        self._on_idle = on_idle

    async def handle(self, incoming: BaseRequest) -> StreamResponse:
        """Answer one request; when this returns, all of the answer is on its way."""
        if BAD_ESCAPE.search(incoming.raw_path.partition("?")[0]):
            return _no_path()
        try:
            request = await _read(incoming)
        except Failure as failure:
            return _response(refusal(failure))
        call, target = self._rest.call_of(request)
        seen = Seen(
            request.method, request.path, incoming.query_string, call, _without_token(request), request.body
        )
        self.seen.add(seen)
        self.under_way.add(seen)
        try:
            return await self._answer(incoming, request, seen, target)
        finally:
            self.under_way.discard(seen)
            self._on_idle()

    async def _answer(
        self, incoming: BaseRequest, request: Request, seen: Seen, target: Target | None
    ) -> StreamResponse:
        call = seen.call
        try:
            self._check_token(request, call)
            answer: Answer | Watch
            fault = self._faults.strike(call, Effect.REFUSE, body=request.body)
            if fault is None or fault.refuse is None:
                answer = self._rest.answer(request, call, target)
            else:
                refused = fault.refuse(Asked(call, request, self._revision()))
                if call.verb == "watch" and fault.in_stream and isinstance(refused, Failure):
                    seen.code = 200
                    return await streaming.refuse_in_stream(incoming, refused)
                answer = answer_of(refused)
        except Failure as failure:
            answer = refusal(failure)
        except Exception:  # noqa: BLE001 - whatever it is, the client gets a Status and the others are served
            _log.exception(
                "%s %s could not be answered: a mistake of the server's own", seen.method, seen.path
            )
            answer = refusal(Failure(500, "InternalError", "Internal error occurred: see the server's log"))
        if isinstance(answer, Watch):
            return await self._stream(incoming, answer, seen)
        seen.code = answer.code
        response = _response(answer)
        await response.prepare(incoming)
        await response.write_eof()
        return response

    def _check_token(self, request: Request, call: Call) -> None:
        if self._token is None:
            return
        shown = request.headers.get("authorization", "")
        scheme, _, token = shown.partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            if not secrets.compare_digest(token.strip().encode(), self._token):
                raise Failure(401, "Unauthorized", "Unauthorized")
        # A password that is wrong is no password: kube-apiserver does not look at any.
        elif request.path.rstrip("/") not in _OPEN and not secrets.compare_digest(
            _password(shown), self._token
        ):
            raise _anonymous(request, call)

    async def _stream(self, incoming: BaseRequest, watch: Watch, seen: Seen) -> StreamResponse:
        call = seen.call
        fault = self._faults.strike(call, *streaming.STREAM_EFFECTS)
        watch.count_bookmarks = lambda: self._count_bookmarks(call)
        self.watches[watch] = call
        try:
            response = await streaming.open_stream(incoming, watch.headers)
            seen.code = response.status
            # From here on it is a stream, and nobody waits for its end.
            self.under_way.discard(seen)
            with suppress(ConnectionError):  # the client went away, or a fault hung up
                with watch:
                    await streaming.send(incoming, response, watch, fault)
                await response.write_eof()
        finally:
            del self.watches[watch]
        return response

    def _count_bookmarks(self, call: Call) -> int:
        if self._faults.strike(call, Effect.HOLD_BOOKMARKS):
            return 0
        repeated = self._faults.strike(call, Effect.REPEAT_BOOKMARKS)
        return repeated.amount if repeated else 1


async def _read(incoming: BaseRequest) -> Request:
    body = b""
    if incoming.body_exists:
        if incoming.headers.get("Expect", "").lower() == "100-continue":
            await incoming.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            incoming.writer.output_size = 0
        try:
            body = await _read_body(incoming)
        except (TimeoutError, ConnectionError, HTTPException, RequestPayloadError):
            raise Failure(400, "BadRequest", "the body of the request could not be read") from None
    query = parse_query(incoming.rel_url.raw_query_string)
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    return Request(incoming.method, incoming.rel_url.raw_path, query, headers, body)


async def _read_body(incoming: BaseRequest) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in incoming.content.iter_any():
        size += len(piece)
        if size > BODY_LIMIT:
            message = f"Request entity too large: limit is {BODY_LIMIT}"
            raise Failure(413, "RequestEntityTooLarge", message)
        pieces.append(piece)
    return b"".join(pieces)


def _no_path() -> Response:
    """What Go's HTTP server says before anybody behind it hears of the request."""
    response = Response(status=400, text="400 Bad Request")
    response.force_close()
    return response


def _password(authorization: str) -> bytes:
    """The password of basic authentication, which is how Go's clients show a token where there is no TLS."""
    scheme, _, shown = authorization.partition(" ")
    if scheme.lower() != "basic":
        return b""
    try:
        return base64.b64decode(shown.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _without_token(request: Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name != "authorization"}


def _anonymous(request: Request, call: Call) -> Failure:
    """What somebody is told who shows no token: who that is, and what they may not."""
    user = 'User "system:anonymous" cannot'
    if not call.resource:
        message = f'forbidden: {user} {call.verb} path "{request.path}"'
        return Failure(403, "Forbidden", message, details={})
    resource = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    where = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
    subject = f"{qualified(call.group, call.resource)}{f' {quoted(call.name)}' if call.name else ''}"
    message = f'{subject} is forbidden: {user} {call.verb} resource "{resource}" in API group "{call.group}" {where}'
    return Failure(403, "Forbidden", message, details=details_of(call.name, call.group, call.resource))


def _response(answer: Answer) -> Response:
    response = Response(status=answer.code, body=answer.body)
    headers = response.headers
    if answer.code != NOT_MODIFIED:
        headers["Content-Type"] = answer.content_type
    if answer.content_type.startswith("text/plain"):
        headers["X-Content-Type-Options"] = "nosniff"
    if not any(name == "Cache-Control" for name, _ in answer.headers):
        headers["Cache-Control"] = "no-cache, private"
    for name, value in answer.headers:
        headers.add(name, value)
    return response
