"""The memory of responses that clients have not read yet."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from masthead_server.head_limits import Budget
from masthead_server.response_limits import LARGE_RESPONSE, MAX_RESPONSES_BYTES
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["ResponseLimiter"]

_RETRY_AFTER: Final = 1
_READING: Final = frozenset({"GET", "HEAD"})


class ResponseLimiter:
    """Limits the unsent bytes of all responses but streams.

    The response that exceeds the budget is still sent, so that a list of any length can be read.
    """

    def __init__(self) -> None:
        self.held = Budget(MAX_RESPONSES_BYTES)

    def refuse(self, method: str, size: int) -> StatusFailure | None:
        """Return the failure to send in place of a large response while the budget is exceeded; None if it fits."""
        if size <= LARGE_RESPONSE or not self.held.is_exceeded:
            return None
        problem = f"clients have not read {self.held.used >> 20} MiB of responses of this server"
        if method in _READING:
            message = f"{problem}: try again later"
            return StatusFailure(429, "TooManyRequests", message, details={}, retry_after=_RETRY_AFTER)
        # A 429 would say that nothing was written, and clients would write again.
        message = f"{problem}, so that this one was not sent: the request may have taken effect"
        return StatusFailure(504, "Timeout", message, details={})

    @contextmanager
    def hold(self, size: int) -> Generator[None]:
        """Count a body during the block, in which it is sent."""
        self.held.take(size)
        try:
            yield
        finally:
            self.held.take(-size)
