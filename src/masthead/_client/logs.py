"""Container logs, as streams."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from masthead._client.log_follow import LogFollower
from masthead._module import set_module
from masthead._sansio.log_lines import LogLineDecoder, stamp_of
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from masthead._client.log_query import LogQuery
    from masthead._client.log_source import LogSource
    from masthead._rest.response_stream import ResponseStream

__all__ = ["LogStream"]


@set_module("masthead.aio.streams")
class LogStream:
    """A log: iterate over its lines, or `read` all of it.

    The request is sent when the first line is read. A stream can be read once.

    A followed log continues over lost connections, restarts of the API server and failures of the node: each line
    is delivered once, whole, and in order. It ends when the container does, and raises `NotFoundError` if the pod is
    gone when it is requested again. Only lines that the node itself has deleted in between, by rotating or replacing
    the file, are lost.

    A line of more than 1 MiB is delivered in pieces of 1 MiB, so that memory is bounded whatever a container writes.
    """

    def __init__(self, source: LogSource, options: LogQuery, *, restarts: bool = False) -> None:
        self._source = source
        self._options = options
        self._follower = LogFollower(source, options, restarts=restarts) if options.follow else None
        self._stream: ResponseStream | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._decoder = LogLineDecoder(has_stamps=options.timestamps)
        self._ready: deque[str] = deque()
        self._closed = False

    async def read(self) -> str:
        """Read the whole log as text; bytes that are not UTF-8 are replaced.

        Raises:
            StatusError: If the server refuses.
            TransportError: If no usable response arrives.
            ClosedError: If the stream is closed, as after a first `read`.
        """
        async with self:
            chunks = [chunk async for chunk in self.chunks()]
        return b"".join(chunks).decode("utf-8", "replace")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes as they arrive, in chunks of any length; of a log that is followed, whole lines.

        Raises:
            StatusError: If the server refuses.
            TransportError: If the connection is lost, and the log is not followed.
            ClosedError: If the stream is closed.
        """
        self._refuse_closed()
        if self._follower is not None:
            while lines := await self._follower.next_lines():
                yield b"\n".join(self._strip_stamps(lines)) + b"\n"
            return
        stream = await self._open()
        async for chunk in stream.chunks():
            yield chunk

    async def close(self) -> None:
        """Stop reading. Closing twice does nothing."""
        self._closed = True
        self._ready.clear()  # or a reader that closes in its own loop would get the rest of the batch
        if self._follower is not None:
            self._follower.close()
        if self._stream is not None:
            self._stream.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        # Lines that arrive together are decoded together, and handed out without another turn of the event loop.
        while not self._ready:
            if self._closed:
                raise StopAsyncIteration
            try:
                lines = await self._next_lines()
            except ClosedError:
                if not self._closed:  # the client was
                    raise
                raise StopAsyncIteration from None
            if lines is None:
                raise StopAsyncIteration
            if not self._closed:
                # A container may write any bytes; invalid UTF-8 must not end the log.
                self._ready.extend(line.decode("utf-8", "replace") for line in lines)
        return self._ready.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _next_lines(self) -> list[bytes] | None:
        """The lines that a chunk completes, if any; None at the end."""
        if self._follower is not None:
            return self._strip_stamps(await self._follower.next_lines()) or None
        if self._chunks is None:
            self._chunks = (await self._open()).chunks()
        chunk = await anext(self._chunks, None)
        if chunk is not None:
            return self._decoder.feed(chunk)
        # The last line may lack its line feed.
        rest = self._decoder.rest
        self._decoder = LogLineDecoder(has_stamps=False)
        return [rest] if rest else None

    def _strip_stamps(self, lines: list[bytes]) -> list[bytes]:
        """Lines of a log that is followed, with timestamps only if they are wanted."""
        return lines if self._options.timestamps else [line[len(stamp_of(line)) :] for line in lines]

    async def _open(self) -> ResponseStream:
        if self._stream is None:
            self._stream = await self._source.open(self._options.query())
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
