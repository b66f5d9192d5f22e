"""Logs, read while they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from masthead._client.options import Query, counted
from masthead._meta.time import format_time
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
    """The query of a log.

    Raises:
        InvalidValueError: if options contradict each other, or a number is none.
    """
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
        "sinceSeconds": counted("since_seconds", since_seconds),
        "tailLines": counted("tail_lines", tail_lines),
        "limitBytes": counted("limit_bytes", limit_bytes),
    }
    return [
        *((name, "true") for name, wanted in switches.items() if wanted),
        *((name, value) for name, value in values.items() if value is not None),
    ]


class LogStream:
    """A log: iterate over its lines, or `read` all of it.

    Nothing is asked for before the first line is. One stream is read once.
    """

    def __init__(self, rest: RestClient, call: Callable[[], Awaitable[Call]]) -> None:
        self._rest = rest
        self._make_call = call
        self._stream: ResponseStream | None = None
        self._lines: AsyncIterator[str] | None = None
        self._closed = False

    async def read(self) -> str:
        """All of it, as text; bytes that are no UTF-8 are replaced.

        Raises:
            StatusError: if the server refuses.
            TransportError: if no usable answer comes.
            ClosedError: if the stream is closed, as it is once it was read.
        """
        async with self:
            chunks = [chunk async for chunk in self.chunks()]
        return b"".join(chunks).decode("utf-8", "replace")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they come, in pieces of any length.

        Raises:
            StatusError: if the server refuses.
            TransportError: if the log breaks off.
            ClosedError: if the stream is closed.
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
            self._refuse_closed()
        return self._stream

    def _refuse_closed(self) -> None:
        """Leave nothing open that is closed, or was while it was being opened.

        Raises:
            ClosedError: if it is.
        """
        if self._closed:
            if self._stream is not None:
                self._stream.close()
            raise ClosedError("the log was closed; ask for it again")

    async def _each_line(self) -> AsyncIterator[str]:
        lines = LineDecoder(verbatim=True)
        async for chunk in self.chunks():
            for line in lines.feed(chunk):
                yield line.decode("utf-8", "replace")
        if lines.rest:
            yield lines.rest.decode("utf-8", "replace")
