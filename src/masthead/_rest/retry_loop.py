"""Retries of calls, by the policy of `masthead._sansio.retry`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from masthead._rest.attempts import FailedAttempt
from masthead._sansio import retry
from masthead.errors import MastheadError, TransportError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from masthead._rest.attempts import AttemptSender
    from masthead._rest.authenticator import Authenticator
    from masthead._rest.call import Call
    from masthead._rest.deadline import Deadline
    from masthead._rest.lifetime import ClientLifetime
    from masthead._rest.prepared_call import PreparedCall
    from masthead._transport.contract import TransportResponse

__all__ = ["RetryRunner"]

_log: Final = logging.getLogger("masthead.rest")

T = TypeVar("T")


class RetryRunner:
    """Repeats the attempts of a call until one succeeds, or the policy gives up.

    Args:
        sender: Sends the attempts.
        authenticator: Renews credentials after a 401.
        lifetime: Ends the pauses between attempts when the client closes.
        random: The source of jitter.
        server: The server's ``host:port``, for logs.
    """

    def __init__(
        self,
        sender: AttemptSender,
        authenticator: Authenticator,
        lifetime: ClientLifetime,
        random: Callable[[], float],
        server: str,
    ) -> None:
        self._sender = sender
        self._authenticator = authenticator
        self._lifetime = lifetime
        self._random = random
        self._server = server

    async def run(
        self,
        prepared: PreparedCall,
        use: Callable[[Call, TransportResponse], Awaitable[T]],
        deadline: Deadline,
        attempts: int,
    ) -> T:
        """Make a call.

        Args:
            prepared: The call.
            use: Turns a successful response into a result.
            deadline: The deadline of all attempts together.
            attempts: The maximum number of attempts.

        Raises:
            MastheadError: The error of the last attempt.
        """
        call = prepared.call
        # A 401 refreshes credentials once, outside the retry policy; never the caller's own.
        may_renew = not prepared.has_authorization
        before: MastheadError | None = None
        attempt = 0
        while True:
            attempt += 1
            result = await self._sender.attempt(prepared, use, deadline)
            if not isinstance(result, FailedAttempt):
                return result
            if may_renew and result.is_unauthorized:
                may_renew = False
                if await self._authenticator.renew(result.authorization, deadline):
                    continue
            decision = retry.decide(
                call.method,
                result.outcome,
                attempt=attempt,
                attempts=attempts,
                remaining=deadline.left(),
                random=self._random,
                stream=prepared.is_stream,
                has_reached=self._sender.has_reached,
            )
            # The last error, not the first: it describes the current state of the server.
            if isinstance(decision, retry.GiveUp):
                raise _with_notes(result.error, attempt, before)
            self._log_retry(call, result.error, decision)
            before = result.error
            await self._lifetime.pause(decision.after)

    def _log_retry(self, call: Call, error: MastheadError, decision: retry.Retry) -> None:
        # A server that asks for a retry is normal operation; a lost connection is worth a warning. If the server
        # was never reached, the error follows soon and suffices.
        is_lost = isinstance(error, TransportError) and self._sender.has_reached
        _log.log(
            logging.WARNING if is_lost else logging.INFO,
            "%s: %s: %s; retrying in %.1f s",
            self._server,
            call.subject,
            decision.why,
            decision.after,
        )


def _with_notes(error: MastheadError, attempts: int, before: MastheadError | None) -> MastheadError:
    """Add notes about earlier attempts to the error of the last one."""
    if isinstance(error, TransportError):
        error.attempts = attempts
    if attempts > 1:
        error.add_note(f"This was attempt {attempts}.")
    if before is not None and str(before) != str(error):
        error.add_note(f"The previous attempt: {before}")
    return error
