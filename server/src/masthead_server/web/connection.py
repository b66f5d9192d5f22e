"""One client's connection: requests in, responses out, in order."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from masthead_server.head_limits import HEAD_LIMIT, HEAD_SECONDS
from masthead_server.response_limits import RESPONSE_SECONDS
from masthead_server.web.byte_stream import ClientStream
from masthead_server.web.flow_control import FlowControlledProtocol, abort_connection
from masthead_server.web.head_meter import HeadMeter
from masthead_server.web.request import Request
from masthead_server.web.request_body import RequestBody
from masthead_server.web.request_head import BadRequestError
from masthead_server.web.request_parser import TOO_LARGE, RequestParser
from masthead_server.web.response import Response, encode_head

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Generator

    from masthead_server.clock import Timer
    from masthead_server.web.request_head import RequestHead
    from masthead_server.web.server import HttpServer

__all__ = ["HttpConnection"]

_MAX_PIPELINED: Final = 1_000
"""Requests that a client may send before the first of them is answered; each takes far more memory than its bytes."""
_KEEP_ALIVE_SECONDS: Final = 3630.0
"""Time until an idle connection is closed: more than the hour after which load balancers forget one."""
_LINGER_SECONDS: Final = 0.5
"""Time for which a refused connection stays open: a reset would discard the response."""
_UNDECIDED_SLICE: Final = 4096
"""Bytes behind a refused switch of protocols that are parsed at once: the next request may ask for a switch again."""


class HttpConnection(FlowControlledProtocol):
    """One client's connection. `HttpServer` makes them.

    Args:
        server: The server.

    Attributes:
        server: The server.
        filter_received: Drops some of the bytes behind a switch of protocols, if a fault does.
    """

    def __init__(self, server: HttpServer) -> None:
        super().__init__()
        self.server = server
        self.filter_received: Callable[[bytes], bytes] | None = None
        self._parser = RequestParser(self)
        self._meter = HeadMeter(server.heads)
        self._queue: deque[Request | BadRequestError] = deque()
        self._arriving: Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._current: Request | None = None
        self._head_timer: Timer | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._ignores_input = False
        self._stream: ClientStream | None = None
        # Behind a request for another protocol, bytes wait until it is known which one they speak.
        self._undecided: bytearray | None = None
        self._raw_body_left = 0

    @functools.cached_property
    def peer_certificate(self) -> bytes:
        """The certificate of the client, in DER, which the handshake has verified; empty if there is none."""
        encryption: ssl.SSLObject | None = None
        if self.transport is not None:
            encryption = self.transport.get_extra_info("ssl_object")
        return b"" if encryption is None else encryption.getpeercert(binary_form=True) or b""

    # Called by asyncio:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to time the first head."""
        super().connection_made(transport)
        self.server.connections[self] = None
        self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the handler, and release whatever the connection holds."""
        self.server.connections.pop(self, None)
        super().connection_lost(exc)
        self._stop_head_timer()
        self._stop_idle_timer()
        if self._linger_timer is not None:
            self._linger_timer.cancel()
        self._meter.release_all()
        self._queue.clear()
        self._parser.close()  # or the connection would wait for the garbage collector
        # Before the cancellation, so that a handler that shields itself gets an error, too.
        lost = exc or ConnectionResetError("the client went away")
        for request in (self._current, self._arriving):
            if request is not None:
                request.body.fail(lost)
        if self._stream is not None:
            self._stream.end()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse what arrives, and have it handled."""
        if self._stream is not None:
            self._stream.feed(data if self.filter_received is None else self.filter_received(data))
        elif self._undecided is not None:
            self._keep_undecided(data)
        elif not self._ignores_input:
            self._parse(data)

    # Called by the parser:

    def on_request(self, head: RequestHead) -> None:
        """Queue a request whose head is complete.

        Raises:
            BadRequestError: If too many wait.
        """
        # Reading could be paused instead, but then a disconnect would go unnoticed.
        if len(self._queue) >= _MAX_PIPELINED:
            raise BadRequestError(431, TOO_LARGE)
        # HTTP/1.0 has no informational responses.
        expects = head.has_body and head.version != "1.0" and head.headers.get("Expect").lower() == "100-continue"
        request = Request(self, head, RequestBody(self, expects_continue=expects))
        self._arriving = request
        self._queue.append(request)

    def on_body(self, piece: bytes) -> None:
        """Feed the body of the last request."""
        if self._arriving is not None:
            self._arriving.body.feed(piece)

    def on_end(self) -> None:
        """End the body of the last request."""
        request = self._arriving
        if request is None:
            return
        if request.head.is_upgrade and request.head.content_length:
            # llhttp expects no body before another protocol.
            self._raw_body_left = request.head.content_length
            return
        request.body.end()
        self._arriving = None

    @property
    def is_busy(self) -> bool:
        """Whether a request is being handled, or waits for that."""
        return self._task is not None

    def switch_protocol(self) -> ClientStream:
        """Hand all further bytes to a stream, those included that came with the request."""
        self._stream = ClientStream(self)
        if held := self._take_undecided():
            self._stream.feed(bytes(held))
        return self._stream

    @contextmanager
    def limit_wait(self) -> Generator[None]:
        """Abort the connection if the block, which sends to the client, takes too long: nobody reads."""
        # In real time: a virtual clock may pass a minute while the client reads.
        timer = self.loop.call_later(RESPONSE_SECONDS, self.abort)
        try:
            yield
        finally:
            timer.cancel()

    async def shut_down(self, seconds: float) -> None:
        """Take no more requests, let the present one be answered within some time, and close.

        Args:
            seconds: The time for that.
        """
        self._ignores_input = True
        for queued in self._queue:
            if isinstance(queued, Request):
                queued.body.fail(ConnectionResetError("the server stops"))
        self._queue.clear()
        if self._task is not None:
            # `wait` neither raises nor cancels the task.
            await asyncio.wait([self._task], timeout=seconds)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task], timeout=seconds)
        self.close()

    def _parse(self, data: bytes) -> None:
        parser, meter = self._parser, self._meter
        was_in_body = parser.is_in_body
        try:
            rest = parser.feed(data)
        except BadRequestError as refusal:
            self._refuse(refusal)
            return
        if rest is not None:
            self._undecided = bytearray()
        framing = len(data) - parser.body_size
        # llhttp does not tell where in the bytes a head has ended, so all bytes of one read count alike.
        if parser.heads:
            meter.count_heads(framing)
            self._stop_head_timer()
        elif parser.is_in_body or was_in_body:
            if not meter.count_body(parser.body_size, framing):
                self._refuse(BadRequestError(431, TOO_LARGE))
                return
        else:
            # From the first byte on: a connection may be idle for longer.
            if not meter.has_begun:
                self._start_head_timer()
            meter.count_part(framing)
        if meter.is_exceeded(len(self.server.connections)):
            self._refuse_head()
            return
        self._start_handler()
        if rest:
            self._keep_undecided(rest)

    def _keep_undecided(self, data: bytes) -> None:
        """Keep bytes until the request before them is answered: they may be HTTP or another protocol."""
        assert self._undecided is not None
        if self._raw_body_left and self._arriving is not None:
            piece, data = data[: self._raw_body_left], data[self._raw_body_left :]
            self._raw_body_left -= len(piece)
            self._arriving.body.feed(piece)
            if not self._raw_body_left:
                self._arriving.body.end()
                self._arriving = None
        self._undecided += data
        # Reading is not paused, because the end of the connection must be noticed.
        if len(self._undecided) > HEAD_LIMIT:
            self.abort()

    def _parse_undecided(self) -> None:
        """Parse bytes behind a request for another protocol: the client speaks HTTP after all."""
        held = self._take_undecided()
        while held and not self._ignores_input:
            self._parse(bytes(held[:_UNDECIDED_SLICE]))
            behind = self._take_undecided()
            # In place, which copies a slice only: a chain of such requests would copy all bytes behind each of them.
            held[:_UNDECIDED_SLICE] = behind or b""
            if behind is not None:
                self._undecided = bytearray() if self._raw_body_left else held
                if self._raw_body_left:
                    self._keep_undecided(bytes(held))
                return

    def _take_undecided(self) -> bytearray | None:
        held, self._undecided = self._undecided, None
        return held

    def _refuse_head(self) -> None:
        """The client holds too much: have its only request refused, or end the connection."""
        request = self._queue[-1] if self._queue else None
        if isinstance(request, Request) and len(self._queue) == 1 and not self.is_busy:
            # The handler responds, so that the request is logged.
            request.is_too_large = True
            self._ignores_input = True
            self._start_handler()
            return
        self._refuse(BadRequestError(431, TOO_LARGE))

    def _refuse(self, refusal: BadRequestError) -> None:
        """Stop reading. A malformed request gets its response in turn; an oversized head ends the connection."""
        self._ignores_input = True
        self._stop_head_timer()
        if self._arriving is not None:
            # The framing of a body is malformed, and its handler responds.
            self._arriving.body.fail(ConnectionResetError("the body is malformed"))
            self._arriving.close_after_response()
            self._arriving = None
            if refusal.code != 431:
                self._start_handler()
                return
        if refusal.code == 431 and (self.is_busy or len(self._queue) > 0):
            self.abort()
            return
        self._queue.append(refusal)
        self._start_handler()

    def _start_handler(self) -> None:
        if self._task is None and self._queue:
            self._stop_idle_timer()
            self._task = self.loop.create_task(self._handle_queue())

    async def _handle_queue(self) -> None:
        try:
            while self._queue and self.transport is not None:
                request = self._queue.popleft()
                if not self._queue:
                    self._meter.release_waiting()
                if isinstance(request, BadRequestError):
                    self._send_refusal(request)
                    return
                self._current = request
                await self._handle(request)
                if not await self._can_go_on(request):
                    return
                if self._queue:
                    # Few handlers wait for anything, and a thousand requests in a row would keep all other clients out.
                    await asyncio.sleep(0)
        finally:
            self._task = self._current = None
            if self.transport is not None:
                # A head that began to arrive during the request has had no timeout until now.
                if self._meter.has_begun:
                    self._start_head_timer()
                self._idle_timer = self.loop.call_later(_KEEP_ALIVE_SECONDS, self.close)

    async def _handle(self, request: Request) -> None:
        try:
            await self.server.handler(request)
        except ConnectionError:
            self.close()
        except Exception:
            self.server.logger.exception("%s %s failed", request.method, request.path)
            request.close_after_response()
            if request.response is None and not request.is_switched:
                with suppress(ConnectionError):
                    await request.send(Response.of_text(500, "500 Internal Server Error"))

    async def _can_go_on(self, request: Request) -> bool:
        """Tell whether the next request may be handled; otherwise the connection ends."""
        if self.transport is None or self.transport.is_closing():
            return False
        # A response that is missing or cut short: only the end of the connection tells the client.
        if request.is_switched or request.response is None or not request.response.is_finished:
            self.close()
            return False
        if not request.keep_alive or request.is_too_large:
            self._close_slowly(is_body_complete=request.body.is_complete)
            return False
        if not request.body.is_complete:
            # The next request begins behind the body.
            try:
                await request.body.wait_complete()
            except ConnectionError:
                self.close()
                return False
        if request.head.is_upgrade:
            self._parse_undecided()
        return True

    def _send_refusal(self, refusal: BadRequestError) -> None:
        reason = f"{refusal.code} {refusal.text}" if refusal.code != 431 else refusal.text
        headers = [("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")]
        with suppress(ConnectionError):
            self.write(encode_head(refusal.code, headers) + reason.encode("utf-8", "replace"))
        self._close_slowly(is_body_complete=False)

    def _close_slowly(self, *, is_body_complete: bool) -> None:
        """Close the connection; while the client still sends, only its one half, and soon the other."""
        self._ignores_input = True
        transport = self.transport
        if transport is None:
            return
        # TLS has no half-close in asyncio.
        if is_body_complete or not transport.can_write_eof():
            transport.close()
            return
        self._meter.release_all()
        if self._arriving is not None:
            self._arriving.body.fail(ConnectionResetError("the body is not read"))
        with suppress(OSError):  # the client has reset the connection, which asyncio has not noticed yet
            transport.write_eof()
        self._linger_timer = self.loop.call_later(_LINGER_SECONDS, abort_connection, transport)

    def _start_head_timer(self) -> None:
        self._stop_head_timer()
        self._head_timer = self.server.clock.call_later(HEAD_SECONDS, self._on_head_timeout)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        """Abort a connection whose head has taken too long, without a response, as Go's server does."""
        if not self.is_busy:
            self.abort()

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
