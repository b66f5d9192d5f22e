"""Frames from a stream of bytes, however it is split."""

from __future__ import annotations

from typing import Final

from masthead._spdy.errors import SpdyError
from masthead._spdy.frames import (
    CONTROL_BIT,
    FLAG_FIN,
    FLAG_UNIDIRECTIONAL,
    FRAME_HEAD,
    MAX_DATA_LENGTH,
    MAX_STREAM_ID,
    TWO_WORDS,
    VERSION,
    DataFrame,
    Frame,
    FrameType,
    GoAwayFrame,
    HeadersFrame,
    IgnoredFrame,
    PingFrame,
    RstStreamFrame,
    SynReplyFrame,
    SynStreamFrame,
)
from masthead._spdy.header_blocks import HeaderDecompressor

__all__ = ["FrameDecoder"]

_EMPTY: Final = memoryview(b"")

_KNOWN_TYPES: Final = frozenset(int(frame_type) for frame_type in FrameType)

_SYN_STREAM_HEAD: Final = 10
"""Stream, associated stream, priority, slot."""


class FrameDecoder:
    """Decodes one direction of a session.

    The payload of DATA frames is never buffered: each piece is returned as it arrives, as a view of the chunk.
    So a frame may be of any length, and only control frames are limited.

    Args:
        max_control_bytes: The maximum length of a control frame.
        max_header_bytes: The maximum length of a header block after decompression.
        max_headers: The maximum number of headers of a block.
    """

    __slots__ = (
        "_at",
        "_chunk",
        "_data_fin",
        "_data_left",
        "_data_stream",
        "_head",
        "_headers",
        "_max",
        "_partial",
    )

    def __init__(self, *, max_control_bytes: int, max_header_bytes: int, max_headers: int) -> None:
        self._max = max_control_bytes
        self._headers = HeaderDecompressor(max_bytes=max_header_bytes, max_headers=max_headers)
        self._chunk = _EMPTY
        self._at = 0
        self._partial = bytearray()
        self._head: tuple[int, int] | None = None
        self._data_stream = 0
        self._data_left = 0
        self._data_fin = False

    def feed(self, chunk: bytes | memoryview) -> list[Frame]:
        """Add bytes, and return the frames that they complete, and the pieces of DATA frames.

        Raises:
            SpdyError: If the bytes are not SPDY/3.1, or a frame is too large. Nothing can be decoded after that.
        """
        self._chunk = memoryview(chunk)
        self._at = 0
        frames: list[Frame] = []
        while (frame := self._next_frame()) is not None:
            frames.append(frame)
        self._chunk = _EMPTY
        return frames

    def _next_frame(self) -> Frame | None:
        """The next frame or piece; None if the chunk is used up."""
        # The rest of a data frame, whose head has been read.
        if self._data_left:
            return self._next_piece()
        if self._head is None:
            head = self._take(FRAME_HEAD.size)
            if head is None:
                return None
            first, second = FRAME_HEAD.unpack(head)
            # Data is passed on in pieces as it arrives, without waiting for the whole frame.
            if not first & CONTROL_BIT:
                return self._start_data(first, second)
            self._head = self._checked_head(first, second)
        payload = self._take(self._head[1] & MAX_DATA_LENGTH)
        if payload is None:
            return None
        (first, second), self._head = self._head, None
        return self._decode_control(FrameType(first & 0xFFFF), second >> 24, payload)

    def _take(self, size: int) -> bytes | memoryview | None:
        """Take exactly `size` bytes; None, with the bytes left in the buffer, until all have arrived."""
        have = len(self._partial)
        piece = self._chunk[self._at : self._at + size - have]
        self._at += len(piece)
        # The usual case: no copy.
        if not have and len(piece) == size:
            return piece
        self._partial += piece
        if len(self._partial) < size:
            return None
        whole = bytes(self._partial)
        self._partial.clear()
        return whole

    def _start_data(self, stream_id: int, flags_and_length: int) -> DataFrame | None:
        if stream_id == 0:
            raise SpdyError("a SPDY data frame of stream 0")
        fin = bool(flags_and_length >> 24 & FLAG_FIN)
        length = flags_and_length & MAX_DATA_LENGTH
        # An empty frame may still carry FIN.
        if length == 0:
            return DataFrame(stream_id, _EMPTY, fin)
        self._data_stream, self._data_left, self._data_fin = stream_id, length, fin
        return self._next_piece()

    def _next_piece(self) -> DataFrame | None:
        piece = self._chunk[self._at : self._at + self._data_left]
        if not piece:
            return None
        self._at += len(piece)
        self._data_left -= len(piece)
        return DataFrame(self._data_stream, piece, self._data_fin and not self._data_left)

    def _checked_head(self, first: int, second: int) -> tuple[int, int]:
        version, number = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != VERSION:
            raise SpdyError(f"a SPDY frame of version {version}; only version {VERSION} is spoken")
        if number not in _KNOWN_TYPES:
            raise SpdyError(f"a SPDY control frame of the unknown type {number}")
        # Before anything is buffered: the peer chooses the length.
        if (length := second & MAX_DATA_LENGTH) > self._max:
            raise SpdyError(f"a SPDY control frame of {length} bytes; at most {self._max} are allowed")
        return first, second

    def _decode_control(self, frame_type: FrameType, flags: int, payload: bytes | memoryview) -> Frame:
        fin = bool(flags & FLAG_FIN)
        match frame_type:
            case FrameType.SYN_STREAM:
                stream_id, headers = self._with_headers(frame_type, payload, _SYN_STREAM_HEAD)
                return SynStreamFrame(stream_id, headers, fin, bool(flags & FLAG_UNIDIRECTIONAL))
            case FrameType.SYN_REPLY:
                return SynReplyFrame(*self._with_headers(frame_type, payload, 4), fin)
            case FrameType.HEADERS:
                return HeadersFrame(*self._with_headers(frame_type, payload, 4), fin)
            case FrameType.RST_STREAM:
                return RstStreamFrame(*_two_words(frame_type, payload))
            case FrameType.GOAWAY:
                return GoAwayFrame(*_two_words(frame_type, payload))
            case FrameType.PING:
                if len(payload) != 4:
                    raise _wrong_length(frame_type, payload)
                return PingFrame(int.from_bytes(payload))
            case _:
                return IgnoredFrame(frame_type)

    def _with_headers(
        self, frame_type: FrameType, payload: bytes | memoryview, start: int
    ) -> tuple[int, dict[str, str]]:
        """The stream and the headers of a frame whose header block starts there."""
        if len(payload) < start:
            raise _wrong_length(frame_type, payload)
        stream_id = int.from_bytes(payload[:4]) & MAX_STREAM_ID
        if stream_id == 0:
            raise SpdyError(f"a SPDY {frame_type.name} frame of stream 0")
        return stream_id, self._headers.decompress(payload[start:])


def _two_words(frame_type: FrameType, payload: bytes | memoryview) -> tuple[int, int]:
    if len(payload) != TWO_WORDS.size:
        raise _wrong_length(frame_type, payload)
    first, second = TWO_WORDS.unpack(payload)
    return first & MAX_STREAM_ID, second


def _wrong_length(frame_type: FrameType, payload: bytes | memoryview) -> SpdyError:
    return SpdyError(f"a SPDY {frame_type.name} frame cannot have {len(payload)} bytes")
