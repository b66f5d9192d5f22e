"""WebSockets over an upgraded connection. Framing, masking and close codes are those of `websockets`, without its I/O.

::

    receive <── messages <── frames <── HttpUpgrade.receive   reads on only when all messages are taken: back-pressure
    send ──> frame ──> HttpUpgrade.write, drain               waits while the peer does not read
    a timer ──> ping                                          so that a dead peer is noticed by the read timeout
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from websockets.exceptions import InvalidState, PayloadTooBig
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import CLIENT, CLOSED, OPEN, Protocol
from websockets.utils import accept_key, generate_key

from masthead._module import set_module
from masthead.errors import ClosedError, MastheadError, ProtocolError, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._transport.contract import TransportResponse, UpgradedResponse

__all__ = ["FrameLengths", "Handshake", "WebSocket"]

MAX_MESSAGE: Final = 2**24
"""The maximum size of a message, in bytes. Servers of Kubernetes send 32 KiB at a time."""
_MAX_PONGS: Final = 2**16
"""How many bytes of pongs may wait for a peer that pings and does not read."""
_CLOSE_SECONDS: Final = 2.0
"""How long to wait for the peer's answer to a close."""
_MIN_SLICE: Final = 2**10
_MAX_SLICE: Final = 2**13
"""How many bytes are parsed at a time: of frames of two bytes, the latter are four thousand."""
_MANY_FRAMES: Final = 64
"""After a slice with more frames, other tasks have their turn, and the next slice is a small one."""
_TWO_BYTES: Final = 126
_EXTENDED: Final = {_TWO_BYTES: 2, 127: 8}
"""Lengths that stand for a longer length behind them, and how many bytes that has."""
_SHORT: Final = 126
_LONG: Final = 2**16
"""The least lengths that need two, and eight, bytes."""
_NORMAL: Final = frozenset({1000, 1001, 1005})
"""Close codes of a normal end: done, going away, none given."""
_SILENT: Final = logging.Logger("masthead.websocket", logging.CRITICAL)  # noqa: LOG001 - on purpose
"""Not below any other logger: `websockets` would log the contents of frames, which may hold secrets."""


class Handshake:
    """The request for a WebSocket, and the check of its response.

    Args:
        protocols: The subprotocols to offer, the preferred one first.
    """

    def __init__(self, protocols: Sequence[str]) -> None:
        self._protocols = tuple(protocols)
        self._key = generate_key()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of the request."""
        return [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", self._key),
            ("Sec-WebSocket-Protocol", ", ".join(self._protocols)),
        ]

    def check(self, response: TransportResponse) -> str:
        """Check the head of a 101, and return the subprotocol that the server has chosen.

        Raises:
            ProtocolError: If it is no answer to this request.
        """
        chosen = response.header("Sec-WebSocket-Protocol")
        if response.header("Upgrade").lower() != "websocket":
            problem = f"the server upgraded to {response.header('Upgrade')!r}, not to a WebSocket"
        elif response.header("Sec-WebSocket-Accept") != accept_key(self._key):
            problem = "the answer to the WebSocket handshake belongs to another request"
        elif chosen not in self._protocols:
            offered = ", ".join(self._protocols)
            problem = (
                f"the server chose the subprotocol {chosen!r} of the offered {offered}; it may be too old for them"
            )
        else:
            return chosen
        raise ProtocolError(f"{problem}; look for a proxy in between, or an API server without WebSockets")


@set_module("masthead.aio.rest")
class WebSocket:
    """A WebSocket that carries binary messages.

    Guarantees:
        What the peer sends is read only as fast as `receive` is called, but for half a megabyte; `send` waits while the
        peer does not read. Pings are answered while `receive` is called. A peer that sends nothing for the read
        timeout, not even an answer to our pings, is dead.

    Cancellation:
        Cancelling `receive` loses nothing. A cancelled `send` was sent, or will be.

    Threads:
        Belongs to its event loop. One task receives; any may send.

    Args:
        upgraded: The connection.
        protocol: The negotiated subprotocol.
        ping_interval: Seconds between two pings.
        explain: Makes an error name what the connection is for.

    Attributes:
        protocol: The negotiated subprotocol.
    """

    def __init__(
        self,
        upgraded: UpgradedResponse,
        protocol: str,
        *,
        ping_interval: float,
        explain: Callable[[TransportError], TransportError],
    ) -> None:
        self.protocol = protocol
        self._upgraded = upgraded
        self._frames = Protocol(CLIENT, max_size=MAX_MESSAGE, logger=_SILENT)
        self._messages: deque[bytes] = deque()
        self._unparsed = memoryview(b"")
        self._has_many_frames = False
        self._slice = _MIN_SLICE
        self._lengths = FrameLengths()
        self._fragments: bytearray | None = None
        self._unread_pongs = 0
        self._explain = explain
        self._is_closed = False
        self._is_receiving = False
        self._loop = asyncio.get_running_loop()
        self._ping_interval = ping_interval
        self._timer = self._loop.call_later(ping_interval, self._ping)

    async def receive(self) -> bytes | None:
        """The next message; None after a normal close.

        Raises:
            ProtocolError: If the connection is lost, closed for a reason, or the peer breaks the protocol.
            DeadlineError: If the peer is dead.
            ClosedError: If it was closed here.
            RuntimeError: If another task receives already.
        """
        while not self._messages:
            if self._frames.state is CLOSED:
                self._check_end()
                return None
            await self._read()
        return self._messages.popleft()

    async def send(self, data: bytes | memoryview) -> None:
        """Send a message, and wait while the peer reads too slowly.

        Raises:
            ProtocolError: If the connection has ended.
            DeadlineError: If the peer is dead.
            ClosedError: If it was closed here.
        """
        try:
            self._frames.send_binary(data)
        # The peer has closed; a close of our own is reported as such first.
        except InvalidState:
            self._refuse_closed()
            raise self._lost("the connection has ended") from None
        self._flush()
        try:
            await self._upgraded.drain()
        except TransportError as error:
            raise self._explain(error) from None

    async def close(self) -> None:
        """Close it, and wait a little for the peer's answer. Closing twice does nothing."""
        if self._is_closed:
            return
        try:
            if self._frames.state is OPEN:
                self._frames.send_close(1000)
                self._flush()
            # A task that receives reads the answer itself.
            async with asyncio.timeout(_CLOSE_SECONDS):
                while self._frames.state is not CLOSED and not self._is_receiving:
                    await self._read()
                    self._messages.clear()
        except (TimeoutError, MastheadError):
            pass  # it ends one way or the other
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop the connection without a close handshake."""
        self._is_closed = True
        self._timer.cancel()
        self._upgraded.close()

    async def _read(self) -> None:
        """Read a slice of the received bytes; at the end, the state is closed."""
        if self._is_receiving:
            raise RuntimeError("a WebSocket has one receiver; another task waits for its messages already")
        self._is_receiving = True
        try:
            data = await self._next_slice()
        except TransportError as error:
            self._stop()
            raise self._explain(error) from None
        finally:
            self._is_receiving = False
        # An empty read is the end of the stream.
        if not data:
            self._frames.receive_eof()
        elif self._lengths.are_minimal(data):
            self._frames.receive_data(data)
        else:
            self._stop()
            raise self._lost("the peer broke the WebSocket protocol (a length is longer than it needs to be)")
        self._answer()
        events = self._frames.events_received()
        self._has_many_frames = len(events) > _MANY_FRAMES
        self._slice = _MIN_SLICE if self._has_many_frames else min(2 * self._slice, _MAX_SLICE)
        for event in events:
            if isinstance(event, Frame):
                self._collect(event)
        if self._frames.close_rcvd is not None or self._frames.parser_exc is not None:
            # Nothing more is said: there is no need to wait until the server closes the connection.
            self._frames.receive_eof()
            self._stop()

    async def _next_slice(self) -> bytes:
        """The next bytes to parse, not too many of them; empty at their end."""
        if not self._unparsed:
            self._unparsed = memoryview(await self._upgraded.receive())
        # Thousands of tiny frames in a row would keep other tasks waiting.
        if self._has_many_frames:
            await asyncio.sleep(0)
        data, self._unparsed = self._unparsed[: self._slice], self._unparsed[self._slice :]
        return bytes(data)

    def _collect(self, frame: Frame) -> None:
        """Assemble messages from frames; those for control are answered by `websockets`."""
        if frame.opcode is Opcode.TEXT:
            self._stop()
            raise self._lost("the peer sent text, where only bytes are allowed")
        if frame.opcode is not Opcode.BINARY and frame.opcode is not Opcode.CONT:
            return
        # The usual case: a message in one frame needs no copy.
        if frame.fin and self._fragments is None:
            self._messages.append(bytes(frame.data))
            return
        # Not a list, of which tiny fragments would make much more than their bytes.
        self._fragments = self._fragments or bytearray()
        self._fragments += frame.data
        if frame.fin:
            self._messages.append(bytes(self._fragments))
            self._fragments = None

    def _check_end(self) -> None:
        """Check that the connection ended with a normal close.

        Raises:
            ProtocolError: If it was not one.
            ClosedError: If it was closed here.
        """
        frames = self._frames
        self._refuse_closed()
        self._stop()
        if isinstance(frames.parser_exc, PayloadTooBig):
            raise self._lost(f"the peer sent a message of more than {MAX_MESSAGE:,} bytes")
        if frames.parser_exc is not None and frames.close_rcvd is None and not isinstance(frames.parser_exc, EOFError):
            raise self._lost(f"the peer broke the WebSocket protocol ({frames.parser_exc})")
        if frames.close_rcvd is None:
            raise self._lost("the connection ended without a close")
        if frames.close_rcvd.code not in _NORMAL:
            raise self._lost(f"the server closed the connection ({_describe(frames.close_rcvd)})")

    def _stop(self) -> None:
        self._timer.cancel()
        self._upgraded.close()

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ClosedError("the WebSocket is closed")

    def _lost(self, problem: str) -> TransportError:
        return self._explain(ProtocolError(problem))

    def _ping(self) -> None:
        if self._frames.state is OPEN:
            self._frames.send_ping(b"")
            self._flush()
            self._timer = self._loop.call_later(self._ping_interval, self._ping)

    def _answer(self) -> None:
        """Send pongs, and the answer to a close; drop pongs while the peer does not read."""
        if not self._upgraded.is_backed_up:
            self._unread_pongs = 0
        if self._frames.state is not OPEN:
            self._flush()
            return
        for pong in self._frames.data_to_send():
            # A peer that pings and does not read would make us buffer without limit.
            if self._unread_pongs < _MAX_PONGS:
                self._unread_pongs += len(pong)
                self._upgraded.write(pong)

    def _flush(self) -> None:
        for data in self._frames.data_to_send():
            if data:  # empty means the end of our side, which follows from closing
                self._upgraded.write(data)


def _describe(close: Close) -> str:
    return f"code {close.code}: {close.reason}" if close.reason else f"code {close.code}"


class FrameLengths:
    """Follows the heads of frames, whose lengths must have the shortest form: `websockets` accepts any."""

    def __init__(self) -> None:
        self._head = b""
        self._payload_left = 0

    def are_minimal(self, data: bytes) -> bool:
        """Whether all lengths in the next bytes of the connection are minimal. After a False, do not call it again.

        Args:
            data: Bytes of unmasked frames, which may begin and end anywhere.
        """
        at, end = 0, len(data)
        while at < end:
            skipped = min(self._payload_left, end - at)
            self._payload_left -= skipped
            at += skipped
            if at == end:
                break
            # The usual head is whole, and has no head before it that is incomplete.
            have = len(self._head)
            kind = (self._head[1] if have > 1 else data[at + 1 - have] if at + 1 - have < end else 0) & 0x7F
            size = 2 + _EXTENDED.get(kind, 0)
            taken = data[at : at + size - have]
            self._head += taken
            at += len(taken)
            if len(self._head) < size:
                continue
            if kind in _EXTENDED:
                length = int.from_bytes(self._head[2:])
                if length < (_SHORT if kind == _TWO_BYTES else _LONG):
                    return False
            else:
                length = kind
            self._head, self._payload_left = b"", length
        return True
