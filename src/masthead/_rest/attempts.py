"""Attempts of calls: sends a request within the rate limit, with credentials, and tells failures from responses."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._errors.base import format_seconds
from masthead._meta.secret import Secret
from masthead._meta.v1 import StatusDetails
from masthead._rest.call_guard import admit_call
from masthead._rest.paths import format_target
from masthead._rest.proxied import PeekedResponse
from masthead._rest.response import failure, read_bounded
from masthead._sansio import retry
from masthead._value import Value
from masthead.errors import (
    ClosedError,
    ConnectError,
    DeadlineError,
    MastheadError,
    ResponseTooLargeError,
    TransportError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._rest.authenticator import Authenticator
    from masthead._rest.call import Call
    from masthead._rest.call_metrics import CallMetrics
    from masthead._rest.deadline import Deadline
    from masthead._rest.prepared_call import PreparedCall
    from masthead._rest.rate_limiter import RateLimiter
    from masthead._rest.warning_handler import WarningHandler
    from masthead._transport.contract import Transport, TransportResponse

__all__ = ["AttemptSender", "FailedAttempt", "with_subject"]

_log: Final = logging.getLogger("masthead.rest")
_UNAUTHORIZED: Final = 401
_NOT_MODIFIED: Final = 304
_NO_SECRET: Final = Secret()

T = TypeVar("T")


class FailedAttempt(Value):
    """A failed attempt.

    Attributes:
        error: The error to raise, if it was the last attempt.
        outcome: The response or the lost connection, for the retry policy.
        authorization: The ``Authorization`` header that was sent; empty if it was not the client's own.
    """

    error: MastheadError
    outcome: retry.ResponseHead | TransportError
    authorization: Secret

    @property
    def is_unauthorized(self) -> bool:
        """Whether the server rejected the credentials."""
        return isinstance(self.outcome, retry.ResponseHead) and self.outcome.status == _UNAUTHORIZED


class AttemptSender:
    """Sends the attempts of calls.

    Args:
        transport: Sends the requests.
        authenticator: The client's credentials.
        warning_handler: Receives the warnings of failed responses.
        rate_limiter: Delays attempts; None for no limit.
        metrics: Counts the requests; None to count nothing.
        server: The server's ``host:port``, for logs.
        origin: Where its address was configured, for the error if it cannot be reached.

    Attributes:
        has_reached: Whether the server has ever responded.
        transport: Sends the requests.
    """

    def __init__(
        self,
        transport: Transport,
        authenticator: Authenticator,
        warning_handler: WarningHandler,
        rate_limiter: RateLimiter | None,
        metrics: CallMetrics | None,
        *,
        server: str,
        origin: str,
    ) -> None:
        self.has_reached = False
        self.transport = transport
        self._authenticator = authenticator
        self._warning_handler = warning_handler
        self._rate_limiter = rate_limiter
        self._metrics = metrics
        self._server = server
        self._origin = origin

    async def attempt(
        self,
        prepared: PreparedCall,
        use: Callable[[Call, TransportResponse], Awaitable[T]],
        deadline: Deadline,
    ) -> T | FailedAttempt:
        """Send a request, and hand a successful response to `use`.

        Raises:
            MastheadError: If a retry cannot help.
        """
        call = prepared.call
        authorization = _NO_SECRET
        try:
            # The rate limit before the credentials, which could expire while the call waits.
            if self._rate_limiter is not None:
                await self._rate_limiter.wait(deadline.left())
            # The caller's own header wins; credentials would be obtained for nothing, perhaps by running a
            # plugin.
            if not prepared.has_authorization:
                authorization = await self._authenticator.authorize(deadline)
            # After all waiting: the caller's right to act may have ended during it.
            with admit_call(call.subject):
                response = await self._send(prepared, authorization, deadline.left())
                self.has_reached = True
                status = response.status
                if status < 300 or (status == _NOT_MODIFIED and prepared.accepts_not_modified):
                    return await use(call, response)
                if call.is_proxied:
                    response = PeekedResponse(response)
                    if not await response.is_refusal():
                        return await use(call, response)
                return await self._read_failure(call, response, authorization)
        except ClosedError:
            # Code that ignores the refusal, and repeats its call for ever, must not block the event loop.
            await asyncio.sleep(0)
            raise
        except TransportError as lost:
            return FailedAttempt(with_subject(call, lost, self._describe_origin(lost)), lost, authorization)
        except MemoryError:
            # Raised below, outside the handler, whose traceback holds on to the bytes read so far.
            pass
        raise ResponseTooLargeError(
            f"{call.subject}: the response does not fit into the memory of this process; read it in pages with limit=, "
            "or set max_response_bytes to refuse it earlier"
        )

    def _describe_origin(self, error: TransportError) -> str:
        """Name the origin of the address, if the server was never reached."""
        is_unreached = isinstance(error, ConnectError) and not self.has_reached
        return f" (the address is from {self._origin})" if is_unreached and self._origin else ""

    async def _read_failure(self, call: Call, response: TransportResponse, authorization: Secret) -> FailedAttempt:
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
        return FailedAttempt(error, outcome, authorization)

    def _send(self, prepared: PreparedCall, authorization: Secret, left: float) -> Awaitable[TransportResponse]:
        """Send a request; the deadline of a stream covers only the head, because its body may last for hours."""
        sending = self.transport.send(prepared.to_request(authorization, left))
        # Each of these would cost every call a coroutine more, and few calls need one.
        if prepared.read_timeout is not None:
            sending = _limit_time(prepared.call, sending, left)
        if self._metrics is not None:
            sending = self._metrics.measure(prepared.call.method, sending)
        return self._log_duration(prepared.call, sending) if _log.isEnabledFor(logging.DEBUG) else sending

    async def _log_duration(self, call: Call, sending: Awaitable[TransportResponse]) -> TransportResponse:
        now = asyncio.get_running_loop().time
        start = now()
        response = await sending
        _log.debug(
            "%s: %s %s: %d after %.3f s",
            self._server,
            call.method,
            format_target(call.path, call.query),
            response.status,
            now() - start,
        )
        return response


async def _limit_time(call: Call, sending: Awaitable[TransportResponse], left: float) -> TransportResponse:
    try:
        async with asyncio.timeout(None if left == math.inf else left):
            return await sending
    except TimeoutError as error:
        # Our own DeadlineError is a TimeoutError, too, with a better message.
        if isinstance(error, MastheadError):
            raise
    raise DeadlineError(
        f"no response began within {format_seconds(left)} s; raise the timeout, or check the network path to "
        "the server",
        verb=call.method,
        url=call.path,
    )


def with_subject(call: Call, error: TransportError, more: str = "") -> TransportError:
    """Return the same error, with the call's subject instead of method and path."""
    message = str(error).removeprefix(f"{call.method} {call.path}: ")
    described = type(error)(f"{call.subject}: {message}{more}", verb=call.method, url=call.path)
    described.__cause__ = error.__cause__
    return described
