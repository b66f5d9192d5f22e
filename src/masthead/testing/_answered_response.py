"""A response that tells when its caller has got it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from masthead._transport.contract import TransportResponse

__all__ = ["AnsweredResponse"]


class AnsweredResponse:
    """Forwards a response, and calls a function once: when the body is read, or a stream begins.

    Args:
        response: The response.
        on_answer: Called before the caller continues.
    """

    def __init__(self, response: TransportResponse, on_answer: Callable[[], None]) -> None:
        self._response = response
        self._on_answer: Callable[[], None] | None = on_answer

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._response.status

    def header(self, name: str) -> str:
        """A header's value; empty if absent."""
        return self._response.header(name)

    def headers_of(self, name: str) -> list[str]:
        """All values of a header."""
        return self._response.headers_of(name)

    async def read(self) -> bytes:
        """Read the body."""
        body = await self._response.read()
        self._strike()
        return body

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        # A watch may never end, so that its beginning counts as the answer.
        self._strike()
        return self._response.chunks()

    def close(self) -> None:
        """Close the response."""
        self._response.close()
        # A caller that needs no body continues here.
        self._strike()

    def _strike(self) -> None:
        # Cleared before the call, which may close the response.
        on_answer, self._on_answer = self._on_answer, None
        if on_answer is not None:
            on_answer()
