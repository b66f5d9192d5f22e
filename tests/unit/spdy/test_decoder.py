from __future__ import annotations

import struct
import zlib

import pytest
from tests.unit.spdy.recorded import FRAMES

from masthead._spdy.decoder import FrameDecoder
from masthead._spdy.dictionary import DICTIONARY
from masthead._spdy.errors import SpdyError
from masthead._spdy.frames import (
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
    encode_control,
    encode_data_head,
)
from masthead._spdy.header_blocks import HeaderCompressor


def decoder() -> FrameDecoder:
    return FrameDecoder(max_control_bytes=1024, max_header_bytes=4096, max_headers=10)


def syn_stream(block: bytes, stream_id: int = 1) -> bytes:
    return encode_control(FrameType.SYN_STREAM, struct.pack(">IIH", stream_id, 0, 0) + block)


def header_block(plain: bytes) -> bytes:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH)


def test_frames_of_spdystream_are_decoded() -> None:
    one = decoder()
    decoded: list[Frame] = [frame for sent in FRAMES for frame in one.feed(sent)]
    assert decoded == [
        SynStreamFrame(1, {"streamtype": "error"}, False, False),
        SynStreamFrame(3, {"port": "8080"}, False, False),
        SynStreamFrame(5, {"requestid": "7"}, True, False),
        SynReplyFrame(1, {}, False),
        HeadersFrame(1, {"x": "1"}, True),
        DataFrame(3, memoryview(b"hello"), False),
        DataFrame(3, memoryview(b""), True),
        PingFrame(2),
        RstStreamFrame(3, 5),
        IgnoredFrame(FrameType.SETTINGS),
        IgnoredFrame(FrameType.WINDOW_UPDATE),
        GoAwayFrame(3, 0),
    ]


def test_data_is_a_view_of_what_was_received() -> None:
    chunk = encode_data_head(1, 5) + b"hello"
    [frame] = decoder().feed(chunk)
    assert isinstance(frame, DataFrame)
    assert frame.data.obj is chunk


def test_pieces_of_a_data_frame_are_returned_as_they_arrive_and_the_last_one_has_its_end() -> None:
    one = decoder()
    head = encode_data_head(1, 5, fin=True)
    assert one.feed(head) == []
    assert one.feed(b"hel") == [DataFrame(1, memoryview(b"hel"), False)]
    assert one.feed(b"lo") == [DataFrame(1, memoryview(b"lo"), True)]


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        (encode_control(FrameType.PING, b""), "PING frame cannot have 0 bytes"),
        (b"\x80\x02\0\x01\0\0\0\0", "version 2"),
        (b"\x80\x03\0\x05\0\0\0\0", "unknown type 5"),
        (b"\x80\x03\0\x01\0\0\x04\x01", "1025 bytes; at most 1024"),
        (encode_control(FrameType.SYN_STREAM, b"123456789"), "SYN_STREAM frame cannot have 9 bytes"),
        (encode_control(FrameType.SYN_REPLY, b"123"), "SYN_REPLY frame cannot have 3 bytes"),
        (encode_control(FrameType.RST_STREAM, b"1234567"), "RST_STREAM frame cannot have 7 bytes"),
        (encode_control(FrameType.GOAWAY, b"1234"), "GOAWAY frame cannot have 4 bytes"),
        (syn_stream(HeaderCompressor().compress({}), 0), "stream 0"),
        (b"\0\0\0\0\0\0\0\0", "stream 0"),
        (syn_stream(b"not compressed"), "cannot be decompressed"),
        (syn_stream(header_block(b"")), "cut short"),
        (syn_stream(header_block(struct.pack(">I", 11))), "11 headers; at most 10"),
        (syn_stream(header_block(struct.pack(">II", 1, 5) + b"abc")), "cut short"),
        (syn_stream(header_block(struct.pack(">I", 0) + b"more")), "longer than its headers"),
        (syn_stream(header_block(struct.pack(">II1sI", 1, 1, b"A", 0))), "invalid or repeated"),
        (syn_stream(header_block(struct.pack(">I", 2) + struct.pack(">I1sI", 1, b"a", 0) * 2)), "repeated"),
        (syn_stream(header_block(b"\0" * 4097)), "more than 4096 bytes"),
        (syn_stream(header_block(b"\0" * 100_000)), "more than 4096 bytes"),
    ],
)
def test_a_malformed_frame_is_an_error(wire: bytes, problem: str) -> None:
    one = decoder()
    with pytest.raises(SpdyError, match=problem):
        one.feed(wire)


def test_a_finished_compression_stream_is_an_error() -> None:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    block = compressor.compress(struct.pack(">I", 0)) + compressor.flush(zlib.Z_FINISH)
    with pytest.raises(SpdyError, match="ends, though the session does not"):
        decoder().feed(syn_stream(block))
