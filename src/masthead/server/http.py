"""HTTP: aiohttp's requests in, answers and streams out, and nobody let in without a token."""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiohttp import web

from masthead.server.bodies import BODY_LIMIT
from masthead.server.events import error_line
from masthead.server.failures import Failure, details_of, qualified, quoted
from masthead.server.faults import Call, Effect
from masthead.server.request import Request, parse_query, refusal
from masthead.server.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead.server.faults import Fault, Faults
    from masthead.server.request import Answer
    from masthead.server.rest import Rest

__all__ = ["Front", "Seen"]

_REMEMBERED: Final = 10_000
NOT_MODIFIED: Final = 304
_OPEN: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""What anybody may ask."""
_STREAM_HEADERS: Final = {"Content-Type": "application/json", "Cache-Control": "no-cache, private"}
_STREAM_EFFECTS: Final = (Effect.DROP, Effect.CUT, Effect.SILENCE)


@dataclass(eq=False, slots=True)
class Seen:
    """A request that came in.

    Attributes:
        method: ``GET`` and so on.
        path: Without the query.
        query: As it was written.
        call: What it was about.
        headers: By lower-case name; the token is left out.
        body: What was sent.
        code: HTTP's status of the answer; 0 while there is none.
    """

    method: str
    path: str
    query: str
    call: Call
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    code: int = 0


class Front:
    """Takes requests and sends answers.

    Args:
        rest: Does what they ask.
        faults: What is to go wrong.
        token: What must be shown to be let in; None to let everybody in.
        on_idle: Called when a request is done.
    """

    def __init__(
        self, rest: Rest, faults: Faults, *, token: str | None, on_idle: Callable[[], object]
    ) -> None:
        self.seen: deque[Seen] = deque(maxlen=_REMEMBERED)
        self.watches: set[Watch] = set()
        self.in_flight = 0
        self._rest = rest
        self._faults = faults
        self._token = token.encode() if token else None
        self._on_idle = on_idle

    async def handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        self.in_flight += 1
        try:
            return await self._answer(incoming)
        finally:
            self.in_flight -= 1
            self._on_idle()

    async def _answer(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            request = await _read(incoming)
        except Failure as failure:
            return _response(refusal(failure))
        call, target = self._rest.call_of(request)
        seen = Seen(
            request.method, request.path, incoming.query_string, call, _without_token(request), request.body
        )
        self.seen.append(seen)
        try:
            self._check_token(request, call)
            answer = self._rest.answer(request, call, target)
        except Failure as failure:
            answer = refusal(failure)
        if isinstance(answer, Watch):
            seen.code = 200
            return await self._stream(incoming, answer, call)
        seen.code = answer.code
        return _response(answer)

    def _check_token(self, request: Request, call: Call) -> None:
        if self._token is None:
            return
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        token = shown.strip().encode()
        if scheme.lower() != "bearer" or not token:
            if request.path.rstrip("/") not in _OPEN:
                raise _anonymous(request, call)
            return
        if not secrets.compare_digest(token, self._token):
            raise Failure(401, "Unauthorized", "Unauthorized")

    async def _stream(self, incoming: web.BaseRequest, watch: Watch, call: Call) -> web.StreamResponse:
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        for name, value in watch.headers:
            response.headers.add(name, value)
        response.enable_chunked_encoding()
        await response.prepare(incoming)
        # A stream is no request that somebody waits for the end of.
        self.in_flight -= 1
        self.watches.add(watch)
        try:
            await self._pump(response, watch, call)
            await response.write_eof()
        except _BrokenError:
            if incoming.transport is not None:
                incoming.transport.abort()
        except ConnectionError:
            pass  # the client went away
        finally:
            self.in_flight += 1
            self.watches.discard(watch)
        return response

    async def _pump(self, response: web.StreamResponse, watch: Watch, call: Call) -> None:
        if (expired := self._faults.strike(call, Effect.ANSWER)) and expired.failure:
            await response.write(error_line(expired.failure))
            return
        watch.count_bookmarks = lambda: self._bookmarks(call)
        fault = self._faults.strike(call, *_STREAM_EFFECTS)
        if fault is not None and fault.effect is Effect.DROP and not fault.after:
            raise _BrokenError
        left = fault.after if fault else 0
        async for piece in watch.pieces():
            if fault is not None:
                left = await self._spoil(response, watch, piece, fault, left)
            else:
                await response.write(piece)

    async def _spoil(
        self, response: web.StreamResponse, watch: Watch, piece: bytes, fault: Fault, left: int
    ) -> int:
        """Send as many whole lines as the fault allows, and then let it happen; returns how many are left."""
        lines = piece.splitlines(keepends=True)
        if len(lines) <= left and not (len(lines) == left and fault.effect is Effect.DROP):
            await response.write(piece)
            return left - len(lines)
        sent = b"".join(lines[:left])
        if fault.effect is Effect.CUT:
            sent += lines[left][: len(lines[left]) // 2]
        if sent:
            await response.write(sent)
        if fault.effect is Effect.SILENCE:
            watch.is_idle = True
            self._on_idle()
            await watch.over.wait()
            return 0
        raise _BrokenError

    def _bookmarks(self, call: Call) -> int:
        if self._faults.strike(call, Effect.HOLD_BOOKMARKS):
            return 0
        repeated = self._faults.strike(call, Effect.REPEAT_BOOKMARKS)
        return repeated.amount if repeated else 1


class _BrokenError(Exception):
    """The connection is to end as if the cable had been pulled."""


async def _read(incoming: web.BaseRequest) -> Request:
    body = b""
    if incoming.body_exists:
        try:
            body = await _read_body(incoming)
        except (TimeoutError, ConnectionError, web.HTTPException):
            raise Failure(400, "BadRequest", "the body of the request could not be read") from None
    query = parse_query(incoming.rel_url.raw_query_string)
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    return Request(incoming.method, incoming.rel_url.raw_path, query, headers, body)


async def _read_body(incoming: web.BaseRequest) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in incoming.content.iter_any():
        size += len(piece)
        if size > BODY_LIMIT:
            message = f"Request entity too large: limit is {BODY_LIMIT}"
            raise Failure(413, "RequestEntityTooLarge", message)
        pieces.append(piece)
    return b"".join(pieces)


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


def _response(answer: Answer) -> web.Response:
    response = web.Response(status=answer.code, body=answer.body)
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
