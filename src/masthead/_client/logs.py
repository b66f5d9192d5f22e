"""Container logs, as streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from masthead._client.options import Query, integer_text
from masthead._meta.time import format_time
from masthead._module import set_module
from masthead._sansio.framing import LineDecoder
from masthead.errors import ClosedError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from datetime import datetime
    from typing import Self

    from masthead._rest.call import Call
    from masthead._rest.client import RestClient
    from masthead._rest.response_stream import ResponseStream

__all__ = ["LogStream", "log_query"]


def log_query(
    *,
    container: str | None,
    follow: bool,
    previous: bool,
    since: datetime | None,
    since_seconds: int | None,
    tail_lines: int | None,
    limit_bytes: int | None,
    timestamps: bool,
    insecure_skip_tls_verify_backend: bool,
) -> Query:
    """The query parameters of a log request.

    Raises:
        InvalidValueError: If options contradict each other, or a number is invalid.
    """
    # The API server refuses both together, too, but only after a request.
    if since is not None and since_seconds is not None:
        raise InvalidValueError("give since or since_seconds, not both")
    switches = {
        "follow": follow,
        "previous": previous,
        "timestamps": timestamps,
        "insecureSkipTLSVerifyBackend": insecure_skip_tls_verify_backend,
    }
    values = {
        "container": container,
        "sinceTime": None if since is None else format_time(since),
        "sinceSeconds": integer_text("since_seconds", since_seconds),
        "tailLines": integer_text("tail_lines", tail_lines),
        "limitBytes": integer_text("limit_bytes", limit_bytes),
    }
    return [
        *((name, "true") for name, wanted in switches.items() if wanted),
        *((name, value) for name, value in values.items() if value is not None),
    ]


@set_module("masthead.aio")
class LogStream:
    """A log: iterate over its lines, or `read` all of it.

    The request is sent when the first line is read. A stream can be read once.
    """

    def __init__(self, rest: RestClient, call: Callable[[], Awaitable[Call]]) -> None:
        self._rest = rest
        self._make_call = call
        self._stream: ResponseStream | None = None
        self._lines: AsyncIterator[str] | None = None
        self._closed = False

    async def read(self) -> str:
        """Read the whole log as text; bytes that are not UTF-8 are replaced.

        Raises:
            StatusError: If the server refuses.
            TransportError: If no usable response arrives.
            ClosedError: If the stream is closed, as it is after a first `read`.
        """
        async with self:
            chunks = [chunk async for chunk in self.chunks()]
        return b"".join(chunks).decode("utf-8", "replace")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive, in chunks of any length.

        Raises:
            StatusError: If the server refuses.
            TransportError: If the connection is lost.
            ClosedError: If the stream is closed.
        """
        stream = await self._open()
        async for chunk in stream.chunks():
            yield chunk

    async def close(self) -> None:
        """Stop reading. Closing twice does nothing."""
        self._closed = True
        if self._stream is not None:
            self._stream.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        if self._closed:
            raise StopAsyncIteration
        if self._lines is None:
            self._lines = self._each_line()
        try:
            return await anext(self._lines)
        except ClosedError:
            if not self._closed:  # the client was
                raise
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _open(self) -> ResponseStream:
        self._refuse_closed()
        if self._stream is None:
            call = msgspec.structs.replace(await self._make_call(), accept="*/*")
            self._stream = await self._rest.open(call)
            # The stream may have been closed while it was being opened.
            self._refuse_closed()
        return self._stream

    def _refuse_closed(self) -> None:
        """Close the response of a stream that was closed, perhaps while it was being opened.

        Raises:
            ClosedError: If the stream is closed.
        """
        if self._closed:
            if self._stream is not None:
                self._stream.close()
            raise ClosedError("the log stream was closed; call logs() again")

    async def _each_line(self) -> AsyncIterator[str]:
        lines = LineDecoder(verbatim=True)
        async for chunk in self.chunks():
            for line in lines.feed(chunk):
                # A container may write any bytes; those that are no UTF-8 must not end the log.
                yield line.decode("utf-8", "replace")
        # The last line may lack its line feed.
        if lines.rest:
            yield lines.rest.decode("utf-8", "replace")
