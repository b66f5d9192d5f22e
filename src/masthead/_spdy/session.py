"""One side of a SPDY session, without I/O."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._spdy.decoder import FrameDecoder
from masthead._spdy.errors import SpdyError
from masthead._spdy.events import (
    GoneAway,
    PingAcknowledged,
    SpdyEvent,
    StreamData,
    StreamEnded,
    StreamOpened,
    StreamReplied,
    StreamReset,
)
from masthead._spdy.frames import (
    FLAG_FIN,
    MAX_DATA_LENGTH,
    MAX_STREAM_ID,
    TWO_WORDS,
    DataFrame,
    Frame,
    FrameType,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    ResetStatus,
    RstStreamFrame,
    SynReplyFrame,
    SynStreamFrame,
    encode_control,
    encode_data_head,
)
from masthead._spdy.header_blocks import HeaderCompressor
from masthead.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SpdyLimits", "SpdySession"]

_NO_HEADERS: Final[Mapping[str, str]] = {}


class SpdyLimits(msgspec.Struct, frozen=True):
    """The limits for a peer of a session.

    Attributes:
        max_streams: The open streams of the peer; more are refused, and the session continues.
        max_control_bytes: The length of a control frame.
        max_header_bytes: The length of a header block after decompression.
        max_headers: The headers of one block.
    """

    max_streams: int = 1000
    max_control_bytes: int = 64 * 1024
    max_header_bytes: int = 256 * 1024
    max_headers: int = 1000


class _Stream:
    """The open directions of a stream."""

    __slots__ = ("is_readable", "is_replied", "is_writable")

    def __init__(self, *, is_readable: bool, is_writable: bool) -> None:
        self.is_readable = is_readable
        self.is_writable = is_writable
        self.is_replied = False


class SpdySession:
    """Streams over one connection.

    The owner of the connection passes received bytes to `receive`, and sends the result of `data_to_send` after each
    call of a method. There is no flow control, as in spdystream: the owner slows the peer down by not reading, which
    affects all streams of the session.

    Args:
        is_client: Whether this is the side that dialled. Its streams have odd numbers.
        limits: The limits for the peer.
    """

    def __init__(self, *, is_client: bool, limits: SpdyLimits | None = None) -> None:
        limits = limits or SpdyLimits()
        self._max_streams = limits.max_streams
        self._decoder = FrameDecoder(
            max_control_bytes=limits.max_control_bytes,
            max_header_bytes=limits.max_header_bytes,
            max_headers=limits.max_headers,
        )
        self._compressor = HeaderCompressor()
        self._streams: dict[int, _Stream] = {}
        self._output: deque[bytes | memoryview] = deque()
        self._unsent = 0
        # Streams and pings of the client have odd numbers, those of the server even ones.
        self._parity = 1 if is_client else 0
        self._next_stream = 1 if is_client else 2
        self._next_ping = 1 if is_client else 2
        self._last_received = 0
        self._peer_streams = 0
        self._has_gone_away = False
        self._failure: SpdyError | None = None

    @property
    def has_gone_away(self) -> bool:
        """Whether either side has said that it accepts no more streams."""
        return self._has_gone_away

    @property
    def open_streams(self) -> frozenset[int]:
        """The streams that are open in at least one direction."""
        return frozenset(self._streams)

    def is_writable(self, stream_id: int) -> bool:
        """Whether data may be sent on a stream."""
        stream = self._streams.get(stream_id)
        return stream is not None and stream.is_writable

    @property
    def unsent(self) -> int:
        """How many bytes are to be sent."""
        return self._unsent

    def data_to_send(self, limit: int | None = None) -> bytes:
        """Take bytes that are to be sent, in the order of the calls; empty if there are none.

        Args:
            limit: How many are enough: whole pieces are taken until there are so many; None for all.
        """
        taken: list[bytes | memoryview] = []
        size = 0
        # Whole pieces only, so that the limit may be exceeded by the last one.
        while self._output and (limit is None or size < limit):
            taken.append(piece := self._output.popleft())
            size += len(piece)
        self._unsent -= size
        return b"".join(taken)

    def open_stream(self, headers: Mapping[str, str], *, fin: bool = False) -> int:
        """Open a stream.

        Args:
            headers: The headers. Names are sent in lower case.
            fin: Whether nothing is ever sent on it.

        Returns:
            The number of the stream.

        Raises:
            ClosedError: If either side has sent GOAWAY, or all numbers are used.
        """
        if self._has_gone_away or self._next_stream > MAX_STREAM_ID:
            raise ClosedError("the SPDY session accepts no more streams; open another connection")
        stream_id = self._next_stream
        # Numbers are never reused, not even after a reset.
        self._next_stream += 2
        self._streams[stream_id] = _Stream(is_readable=True, is_writable=not fin)
        # No associated stream, the highest priority, no slot.
        payload = TWO_WORDS.pack(stream_id, 0) + b"\0\0" + self._compressor.compress(headers)
        self._queue(encode_control(FrameType.SYN_STREAM, payload, FLAG_FIN if fin else 0))
        return stream_id

    def reply(self, stream_id: int, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        """Accept a stream of the peer, before anything is sent on it. Replying twice does nothing.

        Raises:
            ClosedError: If the stream is not open.
        """
        stream = self._streams.get(stream_id)
        if stream is None:
            raise ClosedError(f"SPDY stream {stream_id} is closed")
        # A second reply would be a protocol error; callers need not know whether one was sent.
        if stream.is_replied:
            return
        stream.is_replied = True
        payload = stream_id.to_bytes(4) + self._compressor.compress(headers)
        self._queue(encode_control(FrameType.SYN_REPLY, payload))

    def send_data(self, stream_id: int, data: bytes | memoryview, *, fin: bool = False) -> None:
        """Send bytes, and perhaps the end of the stream in this direction.

        Args:
            stream_id: The stream.
            data: The bytes; they are copied by `data_to_send` only.
            fin: Whether nothing more is sent.

        Raises:
            ClosedError: If the stream is closed in this direction.
        """
        stream = self._streams.get(stream_id)
        if stream is None or not stream.is_writable:
            raise ClosedError(f"SPDY stream {stream_id} is closed")
        # A frame has 24 bits for its length.
        while len(data) > MAX_DATA_LENGTH:
            self._queue(encode_data_head(stream_id, MAX_DATA_LENGTH), data[:MAX_DATA_LENGTH])
            data = data[MAX_DATA_LENGTH:]
        # An empty frame without FIN would tell the peer nothing.
        if data or fin:
            self._queue(encode_data_head(stream_id, len(data), fin=fin), data)
        if fin:
            stream.is_writable = False
            self._forget_closed(stream_id, stream)

    def reset(self, stream_id: int, status: int = ResetStatus.CANCEL) -> None:
        """End a stream in both directions. A stream that is closed already is left alone."""
        if stream_id in self._streams:
            self._forget(stream_id)
            self._send_reset(stream_id, status)

    def ping(self) -> int:
        """Send a ping, and return its number."""
        ping_id = self._next_ping
        # Pings wrap around, because a session may live for ever.
        self._next_ping = ping_id + 2 if ping_id + 2 <= MAX_STREAM_ID else 2 - self._parity
        self._queue(encode_control(FrameType.PING, ping_id.to_bytes(4)))
        return ping_id

    def go_away(self, status: int = 0) -> None:
        """Say that no more streams are accepted. Saying it twice does nothing."""
        if not self._has_gone_away:
            self._has_gone_away = True
            self._queue(encode_control(FrameType.GOAWAY, TWO_WORDS.pack(self._last_received, status)))

    def receive(self, data: bytes | memoryview) -> list[SpdyEvent]:
        """Take received bytes, and return what they mean.

        Raises:
            SpdyError: If the peer has broken the protocol, now or before.
        """
        if self._failure is not None:
            raise self._failure
        events: list[SpdyEvent] = []
        try:
            for frame in self._decoder.feed(data):
                self._handle(frame, events)
        except SpdyError as error:
            # The decoder cannot resynchronize: every later call fails in the same way.
            self._failure = error
            raise
        return events

    def _handle(self, frame: Frame, events: list[SpdyEvent]) -> None:
        match frame:
            case DataFrame():
                self._handle_data(frame, events)
            case SynStreamFrame():
                self._handle_syn_stream(frame, events)
            case SynReplyFrame():
                self._handle_syn_reply(frame, events)
            # Late headers carry nothing for Kubernetes; only their FIN counts.
            case HeadersFrame(stream_id=stream_id, fin=True):
                self._handle_fin(stream_id, events)
            case RstStreamFrame(stream_id=stream_id, status=status):
                if stream_id in self._streams:
                    self._forget(stream_id)
                    events.append(StreamReset(stream_id, status))
            case PingFrame(ping_id=ping_id):
                # Our own number is an answer, any other a question.
                if ping_id & 1 == self._parity:
                    events.append(PingAcknowledged(ping_id))
                else:
                    self._queue(encode_control(FrameType.PING, ping_id.to_bytes(4)))
            case GoAwayFrame(last_stream_id=last_stream_id, status=status):
                self._has_gone_away = True
                events.append(GoneAway(last_stream_id, status))
            case _:
                pass

    def _handle_data(self, frame: DataFrame, events: list[SpdyEvent]) -> None:
        stream = self._streams.get(frame.stream_id)
        if stream is None and not self._has_existed(frame.stream_id):
            raise SpdyError(f"data of the SPDY stream {frame.stream_id}, which was never opened")
        # The peer may not know yet that the stream has ended.
        if stream is None or not stream.is_readable:
            return
        if frame.data:
            events.append(StreamData(frame.stream_id, frame.data))
        if frame.fin:
            self._handle_fin(frame.stream_id, events)

    def _handle_syn_stream(self, frame: SynStreamFrame, events: list[SpdyEvent]) -> None:
        stream_id = frame.stream_id
        # A number of this side, or a used one.
        if stream_id & 1 == self._parity or stream_id <= self._last_received:
            self._send_reset(stream_id, ResetStatus.PROTOCOL_ERROR)
            return
        # Also for a refused stream, since GOAWAY names the last received number.
        self._last_received = stream_id
        if self._has_gone_away:
            return
        if self._peer_streams >= self._max_streams:
            self._send_reset(stream_id, ResetStatus.REFUSED_STREAM)
            return
        self._streams[stream_id] = _Stream(is_readable=True, is_writable=not frame.unidirectional)
        self._peer_streams += 1
        events.append(StreamOpened(stream_id, frame.headers))
        if frame.fin:
            self._handle_fin(stream_id, events)

    def _handle_syn_reply(self, frame: SynReplyFrame, events: list[SpdyEvent]) -> None:
        stream = self._streams.get(frame.stream_id)
        # Late and unexpected replies are ignored: the stream may have ended on this side only.
        if stream is None or stream.is_replied or frame.stream_id & 1 != self._parity:
            return
        stream.is_replied = True
        events.append(StreamReplied(frame.stream_id, frame.headers))
        if frame.fin:
            self._handle_fin(frame.stream_id, events)

    def _handle_fin(self, stream_id: int, events: list[SpdyEvent]) -> None:
        stream = self._streams.get(stream_id)
        if stream is not None and stream.is_readable:
            stream.is_readable = False
            self._forget_closed(stream_id, stream)
            events.append(StreamEnded(stream_id))

    def _has_existed(self, stream_id: int) -> bool:
        if stream_id & 1 == self._parity:
            return stream_id < self._next_stream
        return stream_id <= self._last_received

    def _forget_closed(self, stream_id: int, stream: _Stream) -> None:
        # A half-closed stream stays: the other direction is still open.
        if not stream.is_readable and not stream.is_writable:
            self._forget(stream_id)

    def _forget(self, stream_id: int) -> None:
        del self._streams[stream_id]
        if stream_id & 1 != self._parity:
            self._peer_streams -= 1

    def _queue(self, *pieces: bytes | memoryview) -> None:
        self._output.extend(pieces)
        self._unsent += sum(map(len, pieces))

    def _send_reset(self, stream_id: int, status: int) -> None:
        self._queue(encode_control(FrameType.RST_STREAM, TWO_WORDS.pack(stream_id, status)))
