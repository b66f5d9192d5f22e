"""One connection: a request goes out, its answer comes in, and then the next."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._meta.secret import reveal
from masthead._transport.coalescer import ReadCoalescer, can_coalesce
from masthead._transport.failures import TransportFault
from masthead._transport.incoming_response import IncomingResponse
from masthead._transport.parser import Parser
from masthead._transport.sockets import has_news

if TYPE_CHECKING:
    import ssl

    from masthead._meta.secret import SecretValue
    from masthead._transport.contract import TransportRequest

__all__ = ["Connection", "ConnectionOwner"]

_READ_SIZE: Final = 2**16
"""How many bytes are read at once. Having room ready halves what a small answer costs: without, the loop allocates a
quarter of a megabyte for each."""
_MAX_READ_SIZE: Final = 2**18
"""How many, once a read has filled the room: whoever sends that much has more. A busy watch takes 2 µs an event less."""
_RECORD: Final = 2**14
"""How many bytes of a TLS record may be on their way inside OpenSSL, where the loop does not see them."""
_MOST_HELD: Final = 2**19
"""How many bytes may wait for a reader before the server is made to wait."""
_ALL_AT_ONCE: Final = 2**16
"""Up to how many bytes a body is sent in one piece with the head; above, copying costs more than a system call."""

_CAN_COALESCE: Final = can_coalesce()


class ConnectionOwner(Protocol):
    """Whoever keeps connections."""

    def done(self, connection: Connection) -> None:
        """An exchange is over. The connection can be used again if it is still open."""
        ...

    def gone(self, connection: Connection) -> None:
        """The connection is closed, or will be in a moment. May be told more than once."""
        ...


class Connection(asyncio.BufferedProtocol):
    """A connection to a server, or to a proxy that passes on.

    One exchange at a time. It has one timer, for the limits of all exchanges and for the time between them: where a
    limit moves away, as it does with each request, the timer is left to ring too early, and is wound up again then.

    Args:
        loop: Whose it is.
        owner: Who is told of the end of each exchange, and of its own end.
        context: With which TLS settings it is made; None without TLS.
        idle: How many seconds it may stay open without use.

    Attributes:
        context: With which TLS settings it was made.
        is_open: Whether it can be used.
        is_reused: Whether the exchange is not its first one.
        is_counted: Whether the exchange is one of those of which there may be so many at once.
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
        self._is_paused = False
        self._last_read = 0.0
        self._read_timeout = math.inf
        self._deadline = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._coalescer: ReadCoalescer | None = None

    def send(self, head: SecretValue[bytes], request: TransportRequest, deadline: float) -> IncomingResponse:
        """Send a request whose head is ready.

        Args:
            head: The request line and headers, to the last line break.
            request: What else there is to know.
            deadline: Until when all of the answer must have come, by the loop's clock.

        Returns:
            The answer, of which nothing has come yet.
        """
        response = IncomingResponse(self, self._loop)
        transport = self._transport
        self.is_reused = not self._is_first
        self._is_first = False
        if transport is None or not self.is_open:
            response.fail(
                TransportFault.LOST if self._cause is not None else TransportFault.HUNG_UP, self._cause
            )
            self._owner.done(self)
            return response
        self._response = response
        self._parser.begin(response, request.method)
        self._deadline = deadline
        self._read_timeout = math.inf if request.read_timeout is None else request.read_timeout
        self._last_read = self._loop.time()
        self._set_timer(min(deadline, self._last_read + self._read_timeout))
        if (
            request.read_timeout is not None and _CAN_COALESCE
        ):  # a stream; other responses are not worth a delay
            self._coalescer = ReadCoalescer(self._loop, transport.get_extra_info("socket"))
        _write(transport, head, request)
        return response

    def is_quiet(self) -> bool:
        """Whether it can be used, and nothing came over it that nobody asked for, such as the server's goodbye."""
        transport = self._transport
        return self.is_open and transport is not None and not has_news(transport.get_extra_info("socket"))

    def give_up(
        self, response: IncomingResponse, fault: TransportFault, cause: OSError | None = None
    ) -> None:
        """Close the connection in the middle of an answer; does nothing if it has another one by now."""
        if response is not self._response:
            return
        self._response = None
        self.abort()
        response.fail(fault, cause)
        self._owner.done(self)

    def close(self) -> None:
        """Close it, whatever it is doing."""
        if self._response is not None:
            self.give_up(self._response, TransportFault.CLOSED)
        else:
            self.abort()

    def abort(self) -> None:
        """Close it at once: waiting for the other side's goodbye might take long."""
        self.is_open = False
        self._cancel_timer()
        self._stop_coalescing()
        self._owner.gone(self)
        if self._transport is not None:
            with suppress(AttributeError):  # of early 3.11, where what was closed has lost its protocol
                self._transport.abort()

    def resume(self, response: IncomingResponse) -> None:
        """There is room for more of an answer."""
        if self._is_paused and response is self._response and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
            self._last_read = self._loop.time()  # the server was made to wait, which is not its silence
            self._set_timer(self._due())

    # -- What the loop calls -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put what comes."""
        # A loop that unpacks TLS asks once more when the other side has hung up, and drops what does not fit in then.
        needed = sizehint + _RECORD if self.context is not None else 0
        self._buffer = (
            self._read_buffer if needed <= len(self._read_buffer) else memoryview(bytearray(needed))
        )
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Something has come."""
        response = self._response
        if response is None:  # nobody asked, so it would pass for the answer to the next question
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
            if response.held > _MOST_HELD and not self._is_paused and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()
            if self._coalescer is not None:
                self._coalescer.add(nbytes, self._last_read)
            response.wake()

    def eof_received(self) -> None:
        """No more will come; the loop then closes the connection."""
        self.is_open = False

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._cancel_timer()
        self._stop_coalescing()
        self._transport = None
        self._cause = exc if isinstance(exc, OSError) else None
        response = self._response
        if response is not None:
            # Where no end was announced, uvloop may have thrown away what TLS still held for a slow reader.
            if exc is None and not self.is_open and self._parser.end():
                self._finish(response)
            else:
                self.give_up(response, _fault(response, exc), self._cause)
        self.is_open = False
        self._parser.close()
        self._owner.gone(self)

    # -- Inside --------------------------------------------------------------------------------------------

    def _finish(self, response: IncomingResponse) -> None:
        self._response = None
        self._stop_coalescing()
        transport = self._transport
        # An answer that comes before all of the question was sent ends the conversation: the rest would be misread.
        if self.is_open and (
            not self._parser.can_go_on or transport is None or transport.get_write_buffer_size()
        ):
            self.abort()
        if self.is_open:
            self._last_read = self._loop.time()
            self._set_timer(self._last_read + self._idle)
        response.wake()
        self._owner.done(self)

    def _stop_coalescing(self) -> None:
        if self._coalescer is not None:
            self._coalescer.stop()
            self._coalescer = None

    def _due(self) -> float:
        if self._response is None:
            return self._last_read + self._idle
        return (
            self._deadline if self._is_paused else min(self._deadline, self._last_read + self._read_timeout)
        )

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
        # By the time that was set, not by the clock: a loop that was held up has to read first what came meanwhile.
        now, due, response = self._timer_at, self._due(), self._response
        self._cancel_timer()
        if now < due:
            self._set_timer(due)
        elif response is None:
            self.abort()
        else:
            self.give_up(
                response, TransportFault.LATE if now >= self._deadline else TransportFault.NO_WARNINGS
            )


def _write(transport: asyncio.WriteTransport, head: SecretValue[bytes], request: TransportRequest) -> None:
    body = request.body
    if not body:
        transport.write(head.reveal())
    elif len(reveal(body)) <= _ALL_AT_ONCE:
        transport.write(head.reveal() + reveal(body))
    else:
        transport.write(head.reveal())
        transport.write(reveal(body))


def _fault(response: IncomingResponse, error: Exception | None) -> TransportFault:
    if response.status:
        return TransportFault.CUT_SHORT
    return TransportFault.HUNG_UP if error is None else TransportFault.LOST
