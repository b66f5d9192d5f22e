"""One call of the API, correctly: shown who we are, repeated where that is safe, its failure turned into an error."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from typing import TYPE_CHECKING, Final, TypeVar

from masthead.errors import (
    ClosedError,
    DeadlineError,
    MastheadError,
    StatusError,
    TransportError,
)
from masthead.rest.answer import Answer, failure, refuse_unreadable
from masthead.rest.call import JSON, Call, Subject
from masthead.rest.paths import encoded
from masthead.rest.settings import RestSettings, default_user_agent
from masthead.rest.stream import Stream
from masthead.sansio import retry
from masthead.sansio.tokens import TokenBucket
from masthead.sansio.warnings import parse_warnings
from masthead.transport.contract import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from masthead.auth.contract import Credentials
    from masthead.sansio.warnings import ServerWarning
    from masthead.transport.contract import Response, Transport

__all__ = ["RestClient"]

_log: Final = logging.getLogger("masthead.rest")
_VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_UNAUTHORIZED: Final = 401
_NOT_MODIFIED: Final = 304
"""An answer like a good one, to whoever sent If-None-Match."""

T = TypeVar("T")


class RestClient:
    """Speaks to one API server as one user.

    Its verbs take any path, for what has no client of its own::

        answer = await client.rest.get("/version")
        answer.json()["gitVersion"]

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
    ) -> None:
        """Use a transport, and show these credentials.

        Args:
            transport: What sends the requests; closed with the client.
            credentials: Who we are.
            settings: How to behave.
            headers: What goes with every call, such as whom to impersonate.
            random: Where jitter comes from.
        """
        self.settings = settings or RestSettings()
        self._transport = transport
        self._credentials = credentials
        agent = self.settings.user_agent or default_user_agent()
        self._headers = (("User-Agent", agent), *headers)
        self._random = random
        rate = self.settings.rate
        self._bucket = TokenBucket(rate, self.settings.burst) if rate else None
        self._warned: set[str] = set()
        self._closed = False

    async def call(self, call: Call) -> Answer:
        """Make a call, and read its answer.

        Raises:
            StatusError: if the server refuses it.
            TransportError: if no usable answer comes.
            AuthError: if the credentials cannot be had.
            ClosedError: if the client is closed.
        """
        answer = await self._exchange(call, self._read, silence=None)
        if call.accept.startswith(JSON):
            refuse_unreadable(call, answer)
        return answer

    async def open(self, call: Call) -> Stream:
        """Make a call whose answer is read while it comes.

        The call's timeout ends once the answer begins; from then on, only its silence counts.

        Raises:
            StatusError: if the server refuses it.
            TransportError: if no usable answer comes.
            AuthError: if the credentials cannot be had.
            ClosedError: if the client is closed.
        """

        async def keep(response: Response) -> Stream:
            self._warnings_of(response)
            return Stream(call, response)

        silence = self.settings.silence if call.silence is None else call.silence
        return await self._exchange(call, keep, silence=silence)

    async def get(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """GET a path.

        Args:
            path: From the first slash on, escaped already.
            query: What goes behind the question mark, not escaped yet.
            accept: What the answer may be.
            headers: Further headers.
            timeout: Seconds for the whole call; None for the client's own.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.verb("GET", path, query=query, accept=accept, headers=headers, timeout=timeout)

    async def delete(
        self,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """DELETE a path; its options may be a body.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.verb("DELETE", path, query=query, body=body, headers=headers, timeout=timeout)

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """POST a body to a path.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.verb(
            "POST", path, query=query, body=body, content_type=content_type, headers=headers, timeout=timeout
        )

    async def put(
        self,
        path: str,
        body: bytes,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """PUT a body at a path.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.verb(
            "PUT", path, query=query, body=body, content_type=content_type, headers=headers, timeout=timeout
        )

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """PATCH what is at a path; the content type says which kind of patch it is.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.verb(
            "PATCH", path, query=query, body=body, content_type=content_type, headers=headers, timeout=timeout
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
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Answer:
        """Make a call with any HTTP method.

        Raises:
            MastheadError: as `call` does.
        """
        return await self.call(
            Call(
                method=method,
                path=path,
                subject=Subject(_VERBS.get(method, method.lower()), path),
                query=tuple((query or {}).items()),
                body=body,
                content_type=content_type,
                accept=accept,
                headers=tuple((headers or {}).items()),
                timeout=timeout,
            )
        )

    async def close(self) -> None:
        """Close every connection. Closing twice does nothing."""
        self._closed = True
        await self._transport.close()

    async def _exchange(
        self, call: Call, use: Callable[[Response], Awaitable[T]], *, silence: float | None
    ) -> T:
        """Send a call, again where that is wise, and hand a good answer to `use`."""
        if self._closed:
            raise ClosedError(f"{call.subject}: the client is closed; make a new one")
        now = asyncio.get_running_loop().time
        timeout = self.settings.timeout if call.timeout is None else call.timeout
        deadline = now() + timeout
        is_stream = silence is not None
        renewed = False
        attempt = 0
        while True:
            attempt += 1
            await self._take_turn()
            authorization = await self._credentials.authorization()
            left = deadline - now()
            request = self._request(call, authorization, None if left == math.inf else left, silence)
            outcome: retry.Answer | TransportError
            error: MastheadError
            try:
                response = await self._send_within(request, left, is_stream=is_stream)
                if response.status < 300 or response.status == _NOT_MODIFIED:
                    return await use(response)
                error, outcome = await self._refusal(call, response)
            except TransportError as lost:
                error, outcome = _about(call, lost, attempt), lost
            if isinstance(outcome, retry.Answer) and outcome.status == _UNAUTHORIZED and not renewed:
                renewed = True
                if await self._credentials.renew(authorization):
                    continue
            decision = retry.decide(
                call.method,
                outcome,
                attempt=attempt,
                attempts=self.settings.retries + 1,
                remaining=deadline - now(),
                random=self._random,
                stream=is_stream,
            )
            if isinstance(decision, retry.GiveUp):
                raise error
            _log.info("%s: %s; trying again in %.1f s", call.subject, decision.why, decision.after)
            await asyncio.sleep(decision.after)

    async def _read(self, response: Response) -> Answer:
        body = await response.read()
        etag, content_type = response.header("ETag"), response.header("Content-Type")
        return Answer(response.status, body, content_type, etag, self._warnings_of(response))

    def _request(self, call: Call, authorization: str, total: float | None, silence: float | None) -> Request:
        headers: list[tuple[str, str]] = [*self._headers, ("Accept", call.accept), *call.headers]
        if authorization:
            headers.append(("Authorization", authorization))
        if call.body is not None:
            headers.append(("Content-Type", call.content_type))
        return Request(
            call.method,
            encoded(call.path, call.query),
            headers,
            call.body,
            total if silence is None else None,
            silence,
        )

    async def _send_within(self, request: Request, left: float, *, is_stream: bool) -> Response:
        """Send; a stream has its deadline for the head alone, because its body may come for hours."""
        if not is_stream or left == math.inf:
            return await self._transport.send(request)
        try:
            async with asyncio.timeout(left):
                return await self._transport.send(request)
        except TimeoutError as error:
            if isinstance(error, MastheadError):
                raise
            raise DeadlineError(
                f"no answer began within {left:.1f} s", verb=request.method, url=request.target
            ) from None

    async def _refusal(self, call: Call, response: Response) -> tuple[StatusError, retry.Answer]:
        self._warnings_of(response)
        error = failure(call, response.status, response.header("Content-Type"), await response.read())
        asked = response.header("Retry-After") or (f"{error.retry_after:.0f}" if error.retry_after else "")
        return error, retry.Answer(response.status, asked, response.header("Date"))

    async def _take_turn(self) -> None:
        if self._bucket is None:
            return
        now = asyncio.get_running_loop().time
        turn = self._bucket.reserve(now())
        try:
            await asyncio.sleep(turn.wait)
        except asyncio.CancelledError:
            self._bucket.cancel(turn)
            raise

    def _warnings_of(self, response: Response) -> tuple[ServerWarning, ...]:
        values = response.headers_of("Warning")
        if not values:
            return ()
        warnings = tuple(parse_warnings(values))
        self._hand_over(warnings)
        return warnings

    def _hand_over(self, warnings: Iterable[ServerWarning]) -> None:
        for each in warnings:
            if self.settings.on_warning is not None:
                try:
                    self.settings.on_warning(each)
                except Exception:  # noqa: BLE001 - whatever a hook does, the call is not about it
                    _log.exception("on_warning failed; the call goes on")
            elif each.text not in self._warned:
                self._warned.add(each.text)
                _log.warning("the server warns: %s", each.text)


def _about(call: Call, error: TransportError, attempts: int) -> TransportError:
    """The same error, with what it was about."""
    about = type(error)(f"{call.subject}: {error}", verb=call.method, url=call.path, attempts=attempts)
    about.__cause__ = error
    return about
