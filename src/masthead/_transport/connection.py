"""One connection: a request goes out, its answer comes in, and then the next."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol, cast

from masthead._meta.secret import reveal
from masthead._transport.answer import Answer
from masthead._transport.coalescer import ReadCoalescer, can_coalesce
from masthead._transport.failures import Fault
from masthead._transport.parsing import Parser
from masthead._transport.sockets import has_news

if TYPE_CHECKING:
    import ssl

    from masthead._meta.secret import SecretValue
    from masthead._transport.contract import Request

__all__ = ["Connection", "Owner"]

_ROOM: Final = 2**16
"""How many bytes are read at once. Having room ready halves what a small answer costs: without, the loop allocates a
quarter of a megabyte for each."""
_MOST_ROOM: Final = 2**18
"""How many, once a read has filled the room: whoever sends that much has more. A busy watch takes 2 µs an event less."""
_RECORD: Final = 2**14
"""How many bytes of a TLS record may be on their way inside OpenSSL, where the loop does not see them."""
_MOST_HELD: Final = 2**19
"""How many bytes may wait for a reader before the server is made to wait."""
_ALL_AT_ONCE: Final = 2**16
"""Up to how many bytes a body is sent in one piece with the head; above, copying costs more than a system call."""

_CAN_COALESCE: Final = can_coalesce()


class Owner(Protocol):
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
        self, loop: asyncio.AbstractEventLoop, owner: Owner, context: ssl.SSLContext | None, idle: float
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
        self._room = memoryview(bytearray(_ROOM))
        self._buffer = self._room
        self._answer: Answer | None = None
        self._cause: OSError | None = None
        self._is_first = True
        self._is_paused = False
        self._heard = 0.0
        self._silence = math.inf
        self._deadline = math.inf
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = math.inf
        self._coalescer: ReadCoalescer | None = None

    def ask(self, head: SecretValue[bytes], request: Request, deadline: float) -> Answer:
        """Send a request whose head is ready.

        Args:
            head: The request line and headers, to the last line break.
            request: What else there is to know.
            deadline: Until when all of the answer must have come, by the loop's clock.

        Returns:
            The answer, of which nothing has come yet.
        """
        answer = Answer(self, self._loop)
        transport = self._transport
        self.is_reused = not self._is_first
        self._is_first = False
        if transport is None or not self.is_open:
            answer.fail(Fault.LOST if self._cause is not None else Fault.HUNG_UP, self._cause)
            self._owner.done(self)
            return answer
        self._answer = answer
        self._parser.begin(answer, request.method)
        self._deadline = deadline
        self._silence = math.inf if request.silence is None else request.silence
        self._heard = self._loop.time()
        self._ring_at(min(deadline, self._heard + self._silence))
        if request.silence is not None and _CAN_COALESCE:  # a stream; other responses are not worth a delay
            self._coalescer = ReadCoalescer(self._loop, transport.get_extra_info("socket"))
        _write(transport, head, request)
        return answer

    def is_quiet(self) -> bool:
        """Whether it can be used, and nothing came over it that nobody asked for, such as the server's goodbye."""
        transport = self._transport
        return self.is_open and transport is not None and not has_news(transport.get_extra_info("socket"))

    def give_up(self, answer: Answer, fault: Fault, cause: OSError | None = None) -> None:
        """Close the connection in the middle of an answer; does nothing if it has another one by now."""
        if answer is not self._answer:
            return
        self._answer = None
        self.abort()
        answer.fail(fault, cause)
        self._owner.done(self)

    def close(self) -> None:
        """Close it, whatever it is doing."""
        if self._answer is not None:
            self.give_up(self._answer, Fault.CLOSED)
        else:
            self.abort()

    def abort(self) -> None:
        """Close it at once: waiting for the other side's goodbye might take long."""
        self.is_open = False
        self._silence_alarm()
        self._stop_coalescing()
        self._owner.gone(self)
        if self._transport is not None:
            with suppress(AttributeError):  # of early 3.11, where what was closed has lost its protocol
                self._transport.abort()

    def resume(self, answer: Answer) -> None:
        """There is room for more of an answer."""
        if self._is_paused and answer is self._answer and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
            self._heard = self._loop.time()  # the server was made to wait, which is not its silence
            self._ring_at(self._due())

    # -- What the loop calls -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put what comes."""
        # A loop that unpacks TLS asks once more when the other side has hung up, and drops what does not fit in then.
        needed = sizehint + _RECORD if self.context is not None else 0
        self._buffer = self._room if needed <= len(self._room) else memoryview(bytearray(needed))
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Something has come."""
        answer = self._answer
        if answer is None:  # nobody asked, so it would pass for the answer to the next question
            self.abort()
            return
        answer.is_begun = True
        self._heard = self._loop.time()
        if nbytes == _ROOM:
            self._room = memoryview(bytearray(_MOST_ROOM))
        if not self._parser.feed(self._buffer[:nbytes]):
            self.give_up(answer, Fault.CUT_SHORT if answer.status else Fault.NOT_HTTP)
        elif answer.is_too_large:
            self.give_up(answer, Fault.TOO_LARGE)
        elif answer.is_complete:
            self._finish(answer)
        else:
            if answer.held > _MOST_HELD and not self._is_paused and self._transport is not None:
                self._is_paused = True
                self._transport.pause_reading()
            if self._coalescer is not None:
                self._coalescer.add(nbytes, self._heard)
            answer.wake()

    def eof_received(self) -> None:
        """No more will come; the loop then closes the connection."""
        self.is_open = False

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self._silence_alarm()
        self._stop_coalescing()
        self._transport = None
        self._cause = exc if isinstance(exc, OSError) else None
        answer = self._answer
        if answer is not None:
            # Where no end was announced, uvloop may have thrown away what TLS still held for a slow reader.
            if exc is None and not self.is_open and self._parser.end():
                self._finish(answer)
            else:
                self.give_up(answer, _fault(answer, exc), self._cause)
        self.is_open = False
        self._parser.close()
        self._owner.gone(self)

    # -- Inside --------------------------------------------------------------------------------------------

    def _finish(self, answer: Answer) -> None:
        self._answer = None
        self._stop_coalescing()
        transport = self._transport
        # An answer that comes before all of the question was sent ends the conversation: the rest would be misread.
        if self.is_open and (
            not self._parser.can_go_on or transport is None or transport.get_write_buffer_size()
        ):
            self.abort()
        if self.is_open:
            self._heard = self._loop.time()
            self._ring_at(self._heard + self._idle)
        answer.wake()
        self._owner.done(self)

    def _stop_coalescing(self) -> None:
        if self._coalescer is not None:
            self._coalescer.stop()
            self._coalescer = None

    def _due(self) -> float:
        if self._answer is None:
            return self._heard + self._idle
        return self._deadline if self._is_paused else min(self._deadline, self._heard + self._silence)

    def _ring_at(self, due: float) -> None:
        if due < self._alarm_at:
            self._silence_alarm()
            self._alarm_at = due
            self._alarm = self._loop.call_at(due, self._ring)

    def _silence_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._alarm_at = math.inf

    def _ring(self) -> None:
        # By the time that was set, not by the clock: a loop that was held up has to read first what came meanwhile.
        now, due, answer = self._alarm_at, self._due(), self._answer
        self._silence_alarm()
        if now < due:
            self._ring_at(due)
        elif answer is None:
            self.abort()
        else:
            self.give_up(answer, Fault.LATE if now >= self._deadline else Fault.SILENT)


def _write(transport: asyncio.WriteTransport, head: SecretValue[bytes], request: Request) -> None:
    body = request.body
    if not body:
        transport.write(head.reveal())
    elif len(reveal(body)) <= _ALL_AT_ONCE:
        transport.write(head.reveal() + reveal(body))
    else:
        transport.write(head.reveal())
        transport.write(reveal(body))


def _fault(answer: Answer, error: Exception | None) -> Fault:
    if answer.status:
        return Fault.CUT_SHORT
    return Fault.HUNG_UP if error is None else Fault.LOST
