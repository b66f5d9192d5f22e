"""Request bodies: read within a time limit and a shared budget of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from masthead_server.head_limits import Budget
from masthead_server.wire.body_limits import BODY_SECONDS, MAX_BODIES_BYTES, MAX_BODY_BYTES
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from types import TracebackType

    from masthead_server.clock import Clock
    from masthead_server.web.request import Request

__all__ = ["BodyLimiter", "BodyReader"]

_RETRY_AFTER: Final = 1


class BodyLimiter:
    """Limits the memory that the bodies of all requests in flight take.

    Args:
        clock: Times bodies out.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.held = Budget(MAX_BODIES_BYTES)

    def reader(self, incoming: Request) -> BodyReader:
        """Make the reader of a request's body, to be used as a context manager."""
        return BodyReader(incoming, self)


class BodyReader:
    """Reads the body of one request; leaving the context gives its bytes back to the budget."""

    def __init__(self, incoming: Request, owner: BodyLimiter) -> None:
        self._incoming = incoming
        self._owner = owner
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owner.held.take(-self._size)

    async def read(self) -> bytes:
        """Read all of it.

        Raises:
            StatusFailure: If it is too long, if all bodies together are, if it takes too long, or if the
                client went away.
        """
        incoming = self._incoming
        # Refused before "100 Continue" is sent, so that the client need not send it.
        if (incoming.head.content_length or 0) > MAX_BODY_BYTES:
            raise _too_large()
        # A body that has arrived with its head needs no timer.
        timer = None if incoming.body.is_complete else self._owner.clock.call_later(BODY_SECONDS, self._expire)
        try:
            return await self._read_all()
        except TimeoutError:
            message = "Timeout: request did not complete within the allotted timeout"
            raise StatusFailure(504, "Timeout", message, details={}) from None
        except OSError:
            raise StatusFailure(400, "BadRequest", "the body of the request could not be read") from None
        finally:
            if timer is not None:
                timer.cancel()

    async def _read_all(self) -> bytes:
        pieces: list[bytes] = []
        held = self._owner.held
        async for piece in self._incoming.body:
            self._size += len(piece)
            # Counted while it arrives: many clients may send slowly.
            held.take(len(piece))
            if self._size > MAX_BODY_BYTES:
                raise _too_large()
            # The request that exceeds the budget is refused, and the others keep their share.
            if held.is_exceeded:
                message = "the server has received too many requests and has asked us to try again later"
                raise StatusFailure(429, "TooManyRequests", message, details={}, retry_after=_RETRY_AFTER)
            pieces.append(piece)
        return b"".join(pieces)

    def _expire(self) -> None:
        self._incoming.body.fail(TimeoutError())


def _too_large() -> StatusFailure:
    return StatusFailure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY_BYTES}")
