"""A response of a backend behind the API server's proxy, read as it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._module import set_module
from masthead._rest.proxied import error_of
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Self

    from masthead._rest.call import Call
    from masthead._rest.client import RestClient
    from masthead._rest.response_stream import ResponseStream

__all__ = ["ProxyStream"]


@set_module("masthead.aio.streams")
class ProxyStream:
    """A response that is read as it arrives; to be used in ``async with``, which sends the request."""

    def __init__(self, rest: RestClient, make_call: Callable[[], Awaitable[Call]]) -> None:
        self._rest = rest
        self._make_call = make_call
        self._stream: ResponseStream | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Send the request, and wait for the beginning of the response. Opening twice does nothing.

        Raises:
            StatusError: If the API server itself refuses, or cannot reach the backend.
            TransportError: If no usable response arrives.
            ArgumentError: If the path has a ``..`` in it, a header cannot be sent, or an argument is of another type.
            NameFormatError: If the name has an invalid form.
            ClosedError: If it is closed, or the client is.
        """
        if self._stream is None and not self._is_closed:
            self._stream = await self._rest.open(await self._make_call())
        # Also if close() was called while the request was on its way.
        if self._is_closed:
            await self.close()
            raise ClosedError("the response was closed; send another request")

    @property
    def status(self) -> int:
        """The HTTP status code.

        Raises:
            ClosedError: If it is not open.
        """
        return self._open_stream().status

    @property
    def content_type(self) -> str:
        """The ``Content-Type`` header.

        Raises:
            ClosedError: If it is not open.
        """
        return self._open_stream().content_type

    def header(self, name: str) -> str:
        """A header's value, whatever the case of its name; empty if absent.

        Raises:
            ClosedError: If it is not open.
        """
        return self._open_stream().header(name)

    def raise_for_status(self) -> None:
        """Do nothing unless the status is an error.

        Raises:
            ProxyResponseError: If the status is 400 or more.
            ClosedError: If it is not open.
        """
        stream = self._open_stream()
        if stream.status >= 400:
            raise error_of(stream.call, stream.status)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in chunks of any length.

        Raises:
            DeadlineError: If the read timeout expires.
            ProtocolError: If the response is cut short.
            ClosedError: If it is not open.
        """
        async for chunk in self._open_stream().chunks():
            yield chunk

    async def close(self) -> None:
        """Close the connection unless the whole body was read. Closing twice does nothing."""
        self._is_closed = True
        if self._stream is not None:
            self._stream.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _open_stream(self) -> ResponseStream:
        if self._stream is None:
            raise ClosedError("the request has not been sent: use it in a with block, or call open()")
        return self._stream
