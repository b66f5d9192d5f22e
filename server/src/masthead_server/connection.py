"""Client connections: aiohttp's, with a limit to the memory that one client can make the server use.

aiohttp limits the length of each header, but not of all headers together. So bytes are counted on their way
to the parser. Bytes that belong neither to a body nor to a request that has been handled count as head:
request lines and headers of requests that are incomplete or queued (pipelining), and the framing of chunked
bodies, extensions and trailers included.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from aiohttp.http_exceptions import BadHttpMessage, LineTooLong
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_server import Server

from masthead_server.limits import HEAD_LIMIT, HEAD_SECONDS, HEADER_COUNT_LIMIT, HEADS_LIMIT, Budget

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from logging import Logger

    from aiohttp.streams import StreamReader
    from aiohttp.web_request import BaseRequest
    from aiohttp.web_response import StreamResponse

    from masthead_server.clock import Clock, Timer

    Handler: TypeAlias = Callable[[BaseRequest], Awaitable[StreamResponse]]

__all__ = ["TOO_LARGE", "ClientConnection", "HttpServer", "abort_connection"]

TOO_LARGE: Final = "431 Request Header Fields Too Large"
_REFUSAL: Final = (
    f"HTTP/1.1 {TOO_LARGE}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n{TOO_LARGE}"
).encode()
"""The response of Go's server, before any handler sees the request."""
_END: Final = b"\r\n\r\n"
_LINGER: Final = 0.5
"""Seconds for which a refused connection stays open: a reset would discard the response."""
_FRAMING: Final = 16
"""Bytes of framing that are allowed for each byte of a chunked body, as in Go."""


def abort_connection(transport: asyncio.Transport) -> None:
    """Abort a connection, whatever is still to be sent."""
    with suppress(AttributeError):  # of early 3.11, where a TLS connection that was closed has lost its protocol
        transport.abort()


class HttpServer(Server):
    """Makes a `ClientConnection` for each client.

    Args:
        handler: Handles a request.
        clock: Times heads out.
        logger: aiohttp's logger for errors.
    """

    def __init__(self, handler: Handler, *, clock: Clock, logger: Logger) -> None:
        super().__init__(
            handler,
            handler_cancellation=True,
            access_log=None,
            logger=logger,
            auto_decompress=False,
            # Larger than ours, which come first: aiohttp would reset the connection with its response.
            max_line_size=2 * HEAD_LIMIT,
            max_field_size=2 * HEAD_LIMIT,
            max_headers=HEADER_COUNT_LIMIT + 1,
        )
        self.clock = clock
        self.heads = Budget(HEADS_LIMIT)
        """The bytes of heads that all connections have pending."""

    @property
    def share(self) -> int:
        """How many bytes of heads each connection may have pending while the budget is exceeded."""
        return self.heads.limit // max(1, len(self.connections))

    def __call__(self) -> ClientConnection:
        """Make the protocol of a new connection."""
        return ClientConnection(self, loop=self._loop, **self._kwargs)


class ClientConnection(RequestHandler):
    """One client's connection, made by `HttpServer`."""

    __slots__ = (
        "_body",
        "_body_size",
        "_framing",
        "_incomplete",
        "_last",
        "_lines",
        "_owner",
        "_timer",
        "_waiting",
        "filter_received",
        "is_refused",
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to time the first head."""
        assert isinstance(self._manager, HttpServer)
        self._owner = self._manager
        self._incomplete = 0  # bytes of the head that is arriving
        self._waiting = 0  # bytes of heads that are complete and not handled yet
        self._body: StreamReader | None = None  # the body that is arriving; None between bodies
        self._body_size = 0
        self._framing = 0  # bytes around the chunks of that body
        self._lines = 0  # of the head that is arriving
        self._last = b""  # the last few bytes of it, in which its end may begin
        self._timer: Timer | None = None
        self.is_refused = False
        """Whether the client sent too much, so that nothing it sends is read any more."""
        self.filter_received: Callable[[bytes], bytes] | None = None
        """What is left of the bytes of a connection that was upgraded, if a fault drops some."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Return the connection's share of the budget."""
        self._stop_timer()
        self._hold(0, 0)
        self._body = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what arrives, and let aiohttp parse it."""
        if self.is_refused:
            return
        if self._payload_parser is not None:
            # The connection was upgraded: a WebSocket has limits, and back-pressure, of its own.
            super().data_received(data if self.filter_received is None else self.filter_received(data))
            return
        if self._waiting and not self._messages:
            self._hold(self._incomplete, 0)
        if self._body is None and self._has_too_many_lines(data):
            self._refuse()
            return
        known = self._request_count
        super().data_received(data)
        # The connection may have been closed because of what aiohttp parsed.
        if self.transport is None:
            return
        if self._request_count != known:
            self._on_head(len(data))
        elif self._body is not None:
            self._on_body(len(data))
        else:
            self._on_part_of_head(data)

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> StreamResponse:
        """Respond to what aiohttp cannot parse; a head that is too large in any way is a 431, as in Go."""
        if isinstance(exc, LineTooLong) or (isinstance(exc, BadHttpMessage) and "Too many headers" in str(exc)):
            status, message = 431, TOO_LARGE
        return super().handle_error(request, status, exc, message)

    def _has_too_many_lines(self, data: bytes) -> bool:
        """Whether a head has more lines than are allowed; bytes behind its end are not counted."""
        lines = self._lines + data.count(b"\n")
        if lines > HEADER_COUNT_LIMIT:
            joined = self._last + data
            end = joined.find(_END)
            lines = self._lines + joined.count(b"\n", len(self._last), end if end >= 0 else len(joined))
        return lines > HEADER_COUNT_LIMIT

    def _on_head(self, size: int) -> None:
        """At least one head is complete; bytes that came with it count as part of it."""
        body = self._messages[-1][1] if self._messages else None
        if self._body is not None or len(self._messages) > 1:
            self._fail_bodies(self._body, *(payload for _, payload in self._messages if payload is not body))
        self._body = None if body is None or body.is_eof() else body
        self._body_size = body.total_bytes if body is not None else 0
        self._framing = self._lines = 0
        self._last = b""
        self._stop_timer()
        self._hold(0, self._waiting + self._incomplete + max(0, size - self._body_size))
        self._check()

    def _fail_bodies(self, *bodies: StreamReader | None) -> None:
        """Fail bodies that have not ended when the next message begins: the framing is malformed."""
        for body in bodies:
            if body is not None and not body.is_eof():
                body.set_exception(RequestPayloadError("the body is malformed"))

    def _on_part_of_head(self, data: bytes) -> None:
        if data and not self._incomplete:
            self._start_timer()
        self._lines += data.count(b"\n")
        self._last = (self._last + data)[1 - len(_END) :]
        self._hold(self._incomplete + len(data), self._waiting)
        self._check()

    def _on_body(self, size: int) -> None:
        body = self._body
        assert body is not None
        arrived, self._body_size = body.total_bytes - self._body_size, body.total_bytes
        self._framing += size - arrived
        if body.is_eof():
            self._body = None
        elif self._framing > HEAD_LIMIT + _FRAMING * self._body_size:
            # Chunks of a byte or two are mostly framing, which the limit on bodies does not count.
            self._refuse()

    def _check(self) -> None:
        held = self._incomplete + self._waiting
        heads = self._owner.heads
        if held > HEAD_LIMIT or (heads.is_exceeded and held > self._owner.share):
            self._refuse()

    def _hold(self, incomplete: int, waiting: int) -> None:
        self._owner.heads.take(incomplete + waiting - self._incomplete - self._waiting)
        self._incomplete = incomplete
        self._waiting = waiting

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self._owner.clock.call_later(HEAD_SECONDS, self._on_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timeout(self) -> None:
        """Abort a connection whose head has taken too long, without a response, as Go's server does."""
        if self.transport is not None and not self._messages and not self._request_in_progress:
            abort_connection(self.transport)

    def _refuse(self) -> None:
        """Respond with 431 and read no more; abort the connection while another request is in flight."""
        self.is_refused = True
        self._stop_timer()
        transport = self.transport
        assert transport is not None
        if self._request_in_progress or len(self._messages) > 1:
            abort_connection(transport)
            return
        if self._messages:
            return  # the handler is about to run, and responds: see `HttpHandler`
        self._hold(0, 0)
        transport.write(_REFUSAL)
        if transport.can_write_eof():
            transport.write_eof()
        self._loop.call_later(_LINGER, abort_connection, transport)
