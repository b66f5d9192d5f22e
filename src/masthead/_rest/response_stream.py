"""An answer that is read while it comes: a watch, a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from masthead._sansio.framing import LineDecoder

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from masthead._rest.call import Call
    from masthead._sansio.warnings import ServerWarning
    from masthead._transport.contract import TransportResponse

__all__ = ["ResponseStream"]


class ResponseStream:
    """An open answer; close it, or leave its ``async with`` block, to give its connection back.

    Attributes:
        call: What was asked.
        warnings: What the server warned of.
    """

    def __init__(
        self, call: Call, response: TransportResponse, warnings: tuple[ServerWarning, ...] = ()
    ) -> None:
        self.call = call
        self.warnings = warnings
        self._response = response

    @property
    def content_type(self) -> str:
        """What is coming."""
        return self._response.header("Content-Type")

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they come, in pieces of any length.

        Raises:
            DeadlineError: if the server is silent for too long.
            ProtocolError: if the answer is cut short.
            ClosedError: if the stream was closed.
        """
        return self._response.chunks()

    async def batches(self) -> AsyncGenerator[list[bytes], None]:
        """The lines as they come, without their ends: those that came together, together.

        A line that was cut short by the end of the answer is not among them.

        Raises:
            DeadlineError: if the server is silent for too long.
            ProtocolError: if the answer is cut short, or a line is longer than any object.
            ClosedError: if the stream was closed.
        """
        lines = LineDecoder()
        async for chunk in self._response.chunks():
            if found := lines.feed(chunk):
                yield found

    def close(self) -> None:
        """Drop what was not read. Closing twice does nothing."""
        self._response.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()
