"""Streamed responses: watches and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from masthead._module import set_module
from masthead._sansio.framing import LineDecoder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from masthead._rest.call import Call
    from masthead._sansio.warnings import ServerWarning
    from masthead._transport.contract import TransportResponse

__all__ = ["ResponseStream"]


@set_module("masthead.aio.rest")
class ResponseStream:
    """An open response; close it, or leave its ``async with`` block, to release its connection."""

    def __init__(self, call: Call, response: TransportResponse, warnings: tuple[ServerWarning, ...] = ()) -> None:
        self._call = call
        self._warnings = warnings
        self._response = response

    @property
    def call(self) -> Call:
        """The call."""
        return self._call

    @property
    def warnings(self) -> tuple[ServerWarning, ...]:
        """The server's warnings."""
        return self._warnings

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._response.status

    @property
    def content_type(self) -> str:
        """The ``Content-Type`` header."""
        return self._response.header("Content-Type")

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if absent."""
        return self._response.header(name)

    def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive, in chunks of any length.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the response is cut short.
            ClosedError: If the stream was closed.
        """
        return self._response.chunks()

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """The lines as they arrive, without newlines, in one batch per chunk.

        A partial line at the end of the response is dropped.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the response is cut short, or a line exceeds the maximum length.
            ClosedError: If the stream was closed.
        """
        # A decoder per call: a partial line must not survive into another iteration.
        lines = LineDecoder()
        async for chunk in self._response.chunks():
            if found := lines.feed(chunk):
                yield found

    def close(self) -> None:
        """Close the response, and discard unread bytes. Closing twice does nothing."""
        self._response.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.close()
