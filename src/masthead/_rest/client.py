"""One call of the API, correctly: shown who we are, repeated where that is safe, its failure turned into an error."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import parse_qsl

from masthead._meta.secret import Secret
from masthead._meta.v1 import StatusDetails
from masthead._rest.call import JSON, Call, Subject
from masthead._rest.headers import has_header, merged
from masthead._rest.paths import encoded, logged
from masthead._rest.rate_limiter import Deadline, RateLimiter
from masthead._rest.response import Response, failure, read_bounded, refuse_other_content, refuse_unreadable
from masthead._rest.response_stream import ResponseStream
from masthead._rest.settings import RestSettings, default_user_agent
from masthead._rest.warning_handler import WarningHandler
from masthead._sansio import retry
from masthead._transport.contract import TransportRequest
from masthead.errors import (
    ClosedError,
    ConnectError,
    DeadlineError,
    MastheadError,
    ProtocolError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from masthead._auth.credentials import Credentials
    from masthead._transport.contract import Transport, TransportResponse

__all__ = ["RestClient"]

_log: Final = logging.getLogger("masthead.rest")
_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_UNAUTHORIZED: Final = 401
_NOT_MODIFIED: Final = 304
"""An answer like a good one, to whoever sent If-None-Match."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Failed:
    """An attempt that came to nothing.

    Attributes:
        error: What the caller is told, if it was the last one.
        outcome: What decides about another attempt.
        shown: The credentials that were sent; empty if they were not ours.
    """

    error: MastheadError
    outcome: retry.ResponseHead | TransportError
    shown: Secret

    @property
    def is_of_credentials(self) -> bool:
        """Whether the server did not believe what it was shown."""
        return isinstance(self.outcome, retry.ResponseHead) and self.outcome.status == _UNAUTHORIZED


class RestClient:
    """Speaks to one API server as one user.

    Its verbs take any path, for what has no client of its own::

        answer = await client.rest.get("/version")
        answer.json()["gitVersion"]

    Guarantees:
        A call is repeated as the table in `masthead._sansio.retry` says, with the same body, and within its timeout.
        When the server does not know who is asking, credentials are renewed and shown once more; without credentials
        that should be there, nothing is sent. Every answer is read to its end or closed.

    Cancellation:
        Cancelling a call cancels whatever it waits for, and gives back its turn under the rate limit.

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
        """Use a transport, and show these credentials.

        Args:
            transport: What sends the requests; closed with the client.
            credentials: Who we are.
            settings: How to behave.
            headers: What goes with every call, such as whom to impersonate.
            random: Where jitter comes from.
            server: What logs call the server: its ``host:port``.
            origin: Where its address was read, for the error if it cannot be reached.
        """
        self.settings: RestSettings = settings or RestSettings()
        self._transport = transport
        self._credentials = credentials
        agent = self.settings.user_agent or default_user_agent()
        self._headers = (("User-Agent", agent), *headers)
        self._random = random
        self._rate_limiter = RateLimiter(self.settings.rate, self.settings.burst, server)
        self._warning_handler = WarningHandler(self.settings.on_warning, server)
        self._closed = False
        self.server: str = server
        self._origin = origin
        self._has_reached = False

    @property
    def has_reached(self) -> bool:
        """Whether the server has ever answered."""
        return self._has_reached

    async def call(self, call: Call) -> Response:
        """Make a call, and read its answer.

        Raises:
            StatusError: if the server refuses it.
            TransportError: if no usable answer comes.
            AuthError: if the credentials cannot be had.
            ConfigError: if the authority's certificate cannot be read.
            InvalidValueError: if a header or the query holds what cannot be sent.
            ClosedError: if the client is closed.
        """
        answer = await self._with_retries(call, self._read, is_stream=False)
        if answer.status != _NOT_MODIFIED and call.method != "HEAD" and call.wants_json:
            refuse_unreadable(call, answer)
        return answer

    async def open(self, call: Call) -> ResponseStream:
        """Make a call whose answer is read while it comes.

        The call's timeout ends once the answer begins; from then on, only its silence counts.

        Raises:
            StatusError: if the server refuses it.
            TransportError: if no usable answer comes.
            AuthError: if the credentials cannot be had.
            ConfigError: if the authority's certificate cannot be read.
            InvalidValueError: if a header or the query holds what cannot be sent.
            ClosedError: if the client is closed.
        """
        stream = await self._with_retries(call, self._keep, is_stream=True)
        try:
            if call.wants_json:
                refuse_other_content(call, stream.content_type, None)
        except ProtocolError:
            stream.close()
            raise
        return stream

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
            path: From the first slash on, escaped already.
            query: What goes behind the question mark, not escaped yet.
            accept: What the answer may be.
            headers: Further headers. What is secret among them, such as another ``Authorization``, can be a
                `masthead._meta.secret.Secret`, so that no traceback's variables show it.
            timeout: Seconds for the whole call; None for the client's own.

        Raises:
            MastheadError: as `call` does.
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
        """DELETE a path; its options may be a body.

        Raises:
            MastheadError: as `call` does.
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
            MastheadError: as `call` does.
        """
        return await self.call(
            _raw("POST", path, query, body, content_type, headers=headers, timeout=timeout)
        )

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
        """PUT a body at a path.

        Raises:
            MastheadError: as `call` does.
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
        """PATCH what is at a path; the content type says which kind of patch it is.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.call(
            _raw("PATCH", path, query, body, content_type, headers=headers, timeout=timeout)
        )

    async def verb(
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
        """Make a call with any HTTP method. The path may have a query of its own.

        Raises:
            MastheadError: as `call` does, or if the path is not one.
        """
        return await self.call(
            _raw(method, path, query, body, content_type, accept=accept, headers=headers, timeout=timeout)
        )

    async def close(self) -> None:
        """Close every connection, and end whatever waits. Closing twice does nothing."""
        self._closed = True
        self._rate_limiter.close()
        await self._transport.close()

    async def _with_retries(
        self, call: Call, use: Callable[[Call, TransportResponse], Awaitable[T]], *, is_stream: bool
    ) -> T:
        """Send a call, again where that is wise, and hand a good answer to `use`."""
        if self._closed:
            raise ClosedError(f"{call.subject}: the client is closed; make a new one")
        deadline = Deadline(self.settings.timeout if call.timeout is None else call.timeout)
        retries = self.settings.retries if call.retries is None else call.retries
        may_renew = not has_header(call.headers, "authorization")
        before: MastheadError | None = None
        attempt = 0
        while True:
            attempt += 1
            result = await self._attempt(call, use, deadline, is_stream=is_stream)
            if not isinstance(result, _Failed):
                return result
            if may_renew and result.is_of_credentials:
                may_renew = False
                if await self._rate_limiter.until_closed(self._credentials.renew(result.shown), deadline):
                    continue
            decision = retry.decide(
                call.method,
                result.outcome,
                attempt=attempt,
                attempts=retries + 1,
                remaining=deadline.left(),
                random=self._random,
                stream=is_stream,
                has_reached=self._has_reached,
            )
            if isinstance(decision, retry.GiveUp):
                raise _last(result.error, attempt, before)
            # What the server asks for is its business; what keeps us from it is the reader's. A server that was never
            # reached is an error in a moment.
            is_lost = isinstance(result.error, TransportError) and self._has_reached
            level = logging.WARNING if is_lost else logging.INFO
            _log.log(
                level,
                "%s: %s: %s; trying again in %.1f s",
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
    ) -> T | _Failed:
        shown = Secret()
        try:
            await self._rate_limiter.turn(deadline.left())
            if not has_header(call.headers, "authorization"):
                shown = await self._rate_limiter.until_closed(self._credentials.authorization(), deadline)
            response = await self._send(call, shown, deadline.left(), is_stream=is_stream)
            self._has_reached = True
            status = response.status
            if status < 300 or (status == _NOT_MODIFIED and has_header(call.headers, "if-none-match")):
                return await use(call, response)
            return await self._refused(call, response, shown)
        except TransportError as lost:
            return _Failed(_about(call, lost, self._whence(lost)), lost, shown)

    def _whence(self, error: TransportError) -> str:
        """Where the address of a server was read that was never reached."""
        is_unreached = isinstance(error, ConnectError) and not self._has_reached
        return f" (the address is from {self._origin})" if is_unreached and self._origin else ""

    async def _read(self, call: Call, response: TransportResponse) -> Response:
        try:
            body = await response.read()
        except BaseException:
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

    async def _keep(self, call: Call, response: TransportResponse) -> ResponseStream:
        return ResponseStream(call, response, self._warning_handler.read(call, response))

    async def _refused(self, call: Call, response: TransportResponse, shown: Secret) -> _Failed:
        self._warning_handler.read(call, response)
        header = response.header
        body = await read_bounded(response)
        error = failure(call, response.status, header("Content-Type"), body, header("Location"))
        asked = header("Retry-After") or (f"{error.retry_after:.0f}" if error.retry_after else "")
        if error.retry_after is None and (seconds := retry.parse_retry_after(asked, date=header("Date"))):
            # Who is turned away before anything reads the request gets no Status, only the header.
            error.details = error.details or StatusDetails()
            error.details.retry_after_seconds = round(seconds)
        return _Failed(error, retry.ResponseHead(response.status, asked, header("Date")), shown)

    def _send(
        self, call: Call, shown: Secret, left: float, *, is_stream: bool
    ) -> Awaitable[TransportResponse]:
        """Send; a stream has its deadline for the head alone, because its body may come for hours."""
        request = self._request(call, shown, left, is_stream=is_stream)
        sending = self._send_within(call, request, left) if is_stream else self._transport.send(request)
        return self._tell(call, sending) if _log.isEnabledFor(logging.DEBUG) else sending

    async def _tell(self, call: Call, sending: Awaitable[TransportResponse]) -> TransportResponse:
        now = asyncio.get_running_loop().time
        began = now()
        response = await sending
        took = now() - began
        _log.debug(
            "%s: %s %s: %d after %.3f s",
            self.server,
            call.method,
            logged(call.path, call.query),
            response.status,
            took,
        )
        return response

    async def _send_within(self, call: Call, request: TransportRequest, left: float) -> TransportResponse:
        try:
            async with asyncio.timeout(None if left == math.inf else left):
                return await self._transport.send(request)
        except TimeoutError as error:
            if isinstance(error, MastheadError):
                raise
        raise DeadlineError(f"no answer began within {left:.1f} s", verb=call.method, url=call.path)

    def _request(self, call: Call, shown: Secret, left: float, *, is_stream: bool) -> TransportRequest:
        headers = merged(self._headers, call.headers)
        if call.body is not None and not has_header(call.headers, "content-type"):
            headers.append(("Content-Type", call.content_type))
        if not has_header(call.headers, "accept"):
            headers.append(("Accept", call.accept))
        if shown:
            headers.append(("Authorization", shown))
        target = encoded(call.path, call.query)
        if is_stream:
            read_timeout = self.settings.read_timeout if call.read_timeout is None else call.read_timeout
            return TransportRequest(
                call.method, target, headers, call.body, read_timeout=_finite(read_timeout)
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
    """A call that is about a path; what follows a question mark in it goes before the query."""
    path, has_query, given = path.partition("?")
    asked = parse_qsl(given, keep_blank_values=True) if has_query else []
    method = method.upper()
    return Call(
        method=method,
        path=path,
        subject=Subject(_VERBS.get(method, method.lower()), path),
        query=(*asked, *query.items()) if query else asked,
        body=body,
        content_type=content_type,
        accept=accept,
        headers=tuple(headers.items()) if headers else (),
        timeout=timeout,
    )


def _finite(seconds: float) -> float | None:
    return None if seconds == math.inf else seconds


def _about(call: Call, error: TransportError, more: str = "") -> TransportError:
    """The same error, with what it was about."""
    said = str(error).removeprefix(f"{call.method} {call.path}: ")
    about = type(error)(f"{call.subject}: {said}{more}", verb=call.method, url=call.path)
    about.__cause__ = error.__cause__
    return about


def _last(error: MastheadError, attempts: int, before: MastheadError | None) -> MastheadError:
    """The error of the last attempt, with a word about those before it."""
    if isinstance(error, TransportError):
        error.attempts = attempts
    if attempts > 1:
        error.add_note(f"This was attempt {attempts}.")
    if before is not None and str(before) != str(error):
        error.add_note(f"The one before it: {before}")
    return error
