"""One HTTP/1.1 connection: sends requests and receives responses, one exchange at a time."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._meta.secret import reveal
from masthead._transport.coalescer import ReadCoalescer, can_coalesce
from masthead._transport.failures import MAX_PAUSE, TransportFault
from masthead._transport.incoming_response import IncomingResponse
from masthead._transport.parser import Parser
from masthead._transport.sockets import has_unread, let_peer_pause, read_by_pausing_peer

if TYPE_CHECKING:
    import ssl

    from masthead._meta.secret import SecretValue
    from masthead._transport.contract import TransportRequest

__all__ = ["Connection", "ConnectionOwner"]

_READ_SIZE: Final = 2**16
"""The size of the read buffer. A buffer of our own halves the cost of a small response: without, the loop allocates
a quarter of a megabyte for each."""
_MAX_READ_SIZE: Final = 2**18
"""How many, once a read has filled the buffer: a server that sends that much has more. Saves 2 µs an event."""
_RECORD: Final = 2**14
"""How many bytes of a TLS record may be buffered inside OpenSSL, where the loop does not see them."""
_MAX_HELD: Final = 2**19
"""How many bytes may wait for the reader before reading is paused."""
_MAX_UNSENT: Final = 2**18
"""How many bytes may wait for a peer that does not read, behind an upgrade, before `drain` waits."""
_JOIN_UP_TO: Final = 2**16
"""Up to this size a body is sent in one piece with the head; above, copying costs more than a system call."""

_SUSPICIOUS_SILENCE: Final = 3.0
"""Seconds without a byte of a response after which an abandoned request speaks against the network."""
_RECENT: Final = 1.0
"""Seconds since the last byte for which a connection counts as alive."""

_CAN_COALESCE: Final = can_coalesce()


class ConnectionOwner(Protocol):
    """The owner of connections: the pool."""

    def release(self, connection: Connection) -> None:
        """An exchange is over. The connection can be reused if it is still open."""
        ...

    def remove(self, connection: Connection) -> None:
        """The connection is closed, or is about to be. May be called more than once."""
        ...

    def suspect(self) -> None:
        """A connection fell silent: the idle ones may be as dead."""
        ...


class Connection(asyncio.BufferedProtocol):
    """A connection to a server, or to a forwarding proxy.

    One exchange at a time. One timer serves the timeouts of all exchanges and the idle timeout between them:
    when a timeout moves later, as with each request, the timer is left to fire early and is then set again.

    Args:
        loop: Its event loop.
        owner: Notified of the end of each exchange, and of the connection's own end.
        context: Its TLS context; None without TLS.
        idle: The idle timeout in seconds.

    Attributes:
        context: Its TLS context.
        is_open: Whether it can be used.
        is_reused: Whether the exchange is not its first one.
        is_counted: Whether the exchange counts against the pool's limit; streams do not.
        is_paused: Whether reading is paused, until the reader has taken the buffered bytes.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        owner: ConnectionOwner,
        context: ssl.SSLContext | None,
        idle: float,
    ) -> None:
        self.context = context
        self.is_open = False
        self.is_reused = False
        self.is_counted = True
        self._loop = loop
        self._owner = owner
        self._idle = idle
        self._transport: asyncio.Transport | None = None
        self._parser = Parser()
        self._read_buffer = memoryview(bytearray(_READ_SIZE))
        self._buffer = self._read_buffer
        self._response: IncomingResponse | None = None
        self._cause: OSError | None = None
        self._is_first = True
        self.is_paused = False
        self._is_upgrade = False
        self._acknowledged = -1
        self._paused_at = 0.0
        self._last_read = 0.0
        self._read_timeout = math.inf
        self._deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._coalescer: ReadCoalescer | None = None
        self._unsent: asyncio.Future[None] | None = None

    def send(self, head: SecretValue[bytes], request: TransportRequest, deadline: float) -> IncomingResponse:
        """Send a request whose head is encoded already.

        Args:
            head: The request line and headers, with the final line break.
            request: The request.
            deadline: When the whole response must have arrived, by the loop's clock.

        Returns:
            The response, of which nothing has arrived yet.
        """
        response = IncomingResponse(self, self._loop)
        transport = self._transport
        self.is_reused = not self._is_first
        self._is_first = False
        if transport is None or not self.is_open:
            response.fail(TransportFault.LOST if self._cause is not None else TransportFault.HUNG_UP, self._cause)
            self._owner.release(self)
            return response
        self._response = response
        self._parser.begin(response, request.method, is_upgrade=request.is_upgrade)
        self._deadline = deadline
        self._read_timeout = math.inf if request.read_timeout is None else request.read_timeout
        self._last_read = self._loop.time()
        self._set_timer(min(deadline, self._last_read + self._read_timeout))
        self._is_upgrade = request.is_upgrade
        if request.is_upgrade:
            transport.set_write_buffer_limits(_MAX_UNSENT)
            let_peer_pause(transport.get_extra_info("socket"))
        # Only for streams: other responses are not worth a delay, and behind an upgrade, a peer may wait for an answer.
        elif request.read_timeout is not None and _CAN_COALESCE:
            self._coalescer = ReadCoalescer(self._loop, transport.get_extra_info("socket"))
        _write(transport, head, request)
        return response

    def write(self, response: IncomingResponse, data: bytes) -> None:
        """Send bytes behind an upgrade; does nothing once it is over."""
        if response is self._response and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    @property
    def is_backed_up(self) -> bool:
        """Whether too many bytes are buffered."""
        return self._unsent is not None

    async def drain(self, response: IncomingResponse) -> None:
        """Wait while too many bytes are buffered, unless the upgraded connection is over."""
        if self._transport is not None and self._transport.is_closing():
            # Writing has failed. The loop reports it in its next turn, which a task that only writes would never allow.
            await asyncio.sleep(0)
        if self._unsent is not None and response is self._response:
            # Shielded: one writer that is cancelled must not wake the others.
            await asyncio.shield(self._unsent)

    def is_quiet(self) -> bool:
        """Whether it can be used, and no unexpected data has arrived, such as the server's close."""
        transport = self._transport
        return self.is_open and transport is not None and not has_unread(transport.get_extra_info("socket"))

    def was_read_recently(self) -> bool:
        """Whether bytes have arrived within the last second."""
        return self._loop.time() - self._last_read <= _RECENT

    def give_up(self, response: IncomingResponse, fault: TransportFault, cause: OSError | None = None) -> None:
        """Close the connection in the middle of a response; does nothing if it has moved on to another one."""
        # It has completed or failed already, and the connection may serve another request.
        if response is not self._response:
            return
        self._response = None
        self.abort()
        response.fail(fault, cause)
        self._owner.release(self)
        # Also where the caller gave up: a short timeout or a cancellation proves little; seconds of silence do.
        is_unanswered = not response.is_begun and self._loop.time() - self._last_read >= _SUSPICIOUS_SILENCE
        if fault is TransportFault.READ_TIMEOUT or is_unanswered:
            self._owner.suspect()

    def close(self) -> None:
        """Close it, even during an exchange."""
        if self._response is not None:
            self.give_up(self._response, TransportFault.CLOSED)
        else:
            self.abort()

    def abort(self) -> None:
        """Close it without a TLS shutdown: a graceful TLS shutdown might take long."""
        self.is_open = False
        self._cancel_timer()
        if self._coalescer is not None:
            self._stop_coalescing(self._coalescer)
        self.resume_writing()
        self._owner.remove(self)
        if self._transport is not None:
            with suppress(AttributeError):  # early 3.11: a closed transport has lost its protocol
                self._transport.abort()

    def resume(self, response: IncomingResponse) -> None:
        """Resume reading, if it was paused for this response."""
        if self.is_paused and response is self._response and self._transport is not None:
            self.is_paused = False
            self._transport.resume_reading()
            self._last_read = self._loop.time()  # the pause was ours: it does not count against the read timeout
            self._set_timer(self._due())

    # Called by the loop:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next read."""
        # With TLS, the loop reads once more after the peer's close, and drops what does not fit into the buffer.
        needed = sizehint + _RECORD if self.context is not None else 0
        self._buffer = self._read_buffer if needed <= len(self._read_buffer) else memoryview(bytearray(needed))
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have arrived."""
        response = self._response
        if response is None:  # unsolicited bytes would be taken for the response to the next request
            self.abort()
            return
        response.is_begun = True
        self._last_read = self._loop.time()
        if nbytes == _READ_SIZE:
            self._read_buffer = memoryview(bytearray(_MAX_READ_SIZE))
        if not self._parser.feed(self._buffer[:nbytes]):
            self.give_up(response, TransportFault.CUT_SHORT if response.status else TransportFault.NOT_HTTP)
        elif response.is_too_large:
            self.give_up(response, TransportFault.TOO_LARGE)
        elif response.is_complete:
            self._finish(response)
        else:
            if response.held > _MAX_HELD and not self.is_paused and self._transport is not None:
                self.is_paused = True
                self._transport.pause_reading()
            if self._coalescer is not None:
                self._coalescer.add(nbytes, self._last_read)
            response.wake()

    def pause_writing(self) -> None:
        """The peer reads too slowly."""
        if self._unsent is None:
            self._unsent = self._loop.create_future()

    def resume_writing(self) -> None:
        """The peer has read enough, or will not read any more."""
        unsent, self._unsent = self._unsent, None
        if unsent is not None and not unsent.done():
            unsent.set_result(None)

    def eof_received(self) -> None:
        """The peer has closed its side; the loop then closes the connection."""
        self.is_open = False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._cancel_timer()
        if self._coalescer is not None:
            self._stop_coalescing(self._coalescer)
        self.resume_writing()
        self._transport = None
        self._cause = exc if isinstance(exc, OSError) else None
        response = self._response
        if response is not None:
            # Without a preceding EOF, uvloop may have discarded what TLS still held for a slow reader, so the body
            # must not count as complete.
            if exc is None and not self.is_open and self._parser.end():
                self._finish(response)
            else:
                self.give_up(response, _fault(response, exc), self._cause)
        self.is_open = False
        self._parser.close()
        self._owner.remove(self)

    def _finish(self, response: IncomingResponse) -> None:
        self._response = None
        if self._coalescer is not None:
            self._stop_coalescing(self._coalescer)
        transport = self._transport
        # A response that arrives before the whole request was sent ends the connection: the rest would be misread.
        if self.is_open and (not self._parser.can_reuse or transport is None or transport.get_write_buffer_size()):
            self.abort()
        if self.is_open:
            self._last_read = self._loop.time()
            self._set_timer(self._last_read + self._idle)
        response.wake()
        self._owner.release(self)

    def _stop_coalescing(self, coalescer: ReadCoalescer) -> None:
        coalescer.stop()
        self._coalescer = None

    def _due(self) -> float:
        if self._response is None:
            return self._last_read + self._idle
        # A paused connection reads nothing, so its silence proves nothing.
        return self._deadline if self.is_paused else min(self._deadline, self._last_read + self._read_timeout)

    def _read_by_pausing_peer(self) -> int | None:
        if not self._is_upgrade or self._transport is None:
            return None
        return read_by_pausing_peer(self._transport.get_extra_info("socket"))

    def _set_timer(self, due: float) -> None:
        if due < self._timer_at:
            self._cancel_timer()
            self._timer_at = due
            self._timer = self._loop.call_at(due, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = math.inf

    def _on_timer(self) -> None:
        # By the timer's own time, not by the clock: a loop that was blocked has to read the bytes that arrived during
        # the block first.
        now, due, response = self._timer_at, self._due(), self._response
        self._cancel_timer()
        if now < due:
            self._set_timer(due)
        elif response is None:
            self.abort()
        elif now >= self._deadline:
            self.give_up(response, TransportFault.LATE)
        elif (acknowledged := self._read_by_pausing_peer()) is None:
            self.give_up(response, TransportFault.READ_TIMEOUT)
        elif acknowledged == self._acknowledged and now - self._paused_at >= MAX_PAUSE:
            self.give_up(response, TransportFault.UNREAD)
        else:
            # Our pings are behind what it does not read, and so are their answers.
            if acknowledged != self._acknowledged:
                self._acknowledged, self._paused_at = acknowledged, now
            self._set_timer(min(self._deadline, now + self._read_timeout))


def _write(transport: asyncio.WriteTransport, head: SecretValue[bytes], request: TransportRequest) -> None:
    body = request.body
    if not body:
        transport.write(head.reveal())
    elif len(reveal(body)) <= _JOIN_UP_TO:
        # One write: mostly one packet, and one TLS record.
        transport.write(head.reveal() + reveal(body))
    else:
        # To join them would copy a large body.
        transport.write(head.reveal())
        transport.write(reveal(body))


def _fault(response: IncomingResponse, error: Exception | None) -> TransportFault:
    if response.status:
        return TransportFault.CUT_SHORT
    return TransportFault.HUNG_UP if error is None else TransportFault.LOST
