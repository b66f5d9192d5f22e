"""The frames of SPDY/3.1, and their encoding.

::

    control  |1| version 3 (15) | type (16) | flags (8) | length (24) | payload
    data     |0| stream (31)                | flags (8) | length (24) | payload
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, TypeAlias

import msgspec

__all__ = [
    "CONTROL_BIT",
    "FLAG_FIN",
    "FLAG_UNIDIRECTIONAL",
    "FRAME_HEAD",
    "MAX_DATA_LENGTH",
    "MAX_STREAM_ID",
    "TWO_WORDS",
    "VERSION",
    "DataFrame",
    "Frame",
    "FrameType",
    "GoAwayFrame",
    "HeadersFrame",
    "IgnoredFrame",
    "PingFrame",
    "ResetStatus",
    "RstStreamFrame",
    "SynReplyFrame",
    "SynStreamFrame",
    "encode_control",
    "encode_data_head",
]

VERSION: Final = 3

CONTROL_BIT: Final = 0x8000_0000

FLAG_FIN: Final = 0x01

FLAG_UNIDIRECTIONAL: Final = 0x02

MAX_STREAM_ID: Final = 0x7FFF_FFFF

MAX_DATA_LENGTH: Final = 0xFF_FFFF

FRAME_HEAD: Final = struct.Struct(">II")
"""The eight bytes before each payload."""

TWO_WORDS: Final = struct.Struct(">II")
"""The payload of several control frames: a stream and a number."""


class FrameType(IntEnum):
    """The types of control frames."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


class ResetStatus(IntEnum):
    """Why a stream is reset. Peers may send other numbers."""

    PROTOCOL_ERROR = 1
    INVALID_STREAM = 2
    REFUSED_STREAM = 3
    UNSUPPORTED_VERSION = 4
    CANCEL = 5
    INTERNAL_ERROR = 6
    FLOW_CONTROL_ERROR = 7
    STREAM_IN_USE = 8
    STREAM_ALREADY_CLOSED = 9
    INVALID_CREDENTIALS = 10
    FRAME_TOO_LARGE = 11


class SynStreamFrame(msgspec.Struct, frozen=True):
    """Opens a stream."""

    stream_id: int
    headers: dict[str, str]
    fin: bool
    unidirectional: bool


class SynReplyFrame(msgspec.Struct, frozen=True):
    """Accepts a stream."""

    stream_id: int
    headers: dict[str, str]
    fin: bool


class HeadersFrame(msgspec.Struct, frozen=True):
    """More headers of a stream, which Kubernetes does not use."""

    stream_id: int
    headers: dict[str, str]
    fin: bool


class RstStreamFrame(msgspec.Struct, frozen=True):
    """Ends a stream in both directions."""

    stream_id: int
    status: int


class PingFrame(msgspec.Struct, frozen=True):
    """A ping, or the answer to one: an odd number is the client's."""

    ping_id: int


class GoAwayFrame(msgspec.Struct, frozen=True):
    """The peer accepts no more streams."""

    last_stream_id: int
    status: int


class IgnoredFrame(msgspec.Struct, frozen=True):
    """SETTINGS and WINDOW_UPDATE: neither side of Kubernetes heeds them, so there is no flow control."""

    type: FrameType


class DataFrame(msgspec.Struct, frozen=True):
    """A piece of a DATA frame: its end, if `fin`, is the end of the stream in this direction."""

    stream_id: int
    data: memoryview
    fin: bool


Frame: TypeAlias = (
    SynStreamFrame | SynReplyFrame | HeadersFrame | RstStreamFrame | PingFrame | GoAwayFrame | IgnoredFrame | DataFrame
)


def encode_control(frame_type: FrameType, payload: bytes, flags: int = 0) -> bytes:
    """A control frame."""
    first = CONTROL_BIT | VERSION << 16 | frame_type
    return FRAME_HEAD.pack(first, flags << 24 | len(payload)) + payload


def encode_data_head(stream_id: int, length: int, *, fin: bool = False) -> bytes:
    """What precedes the payload of a DATA frame."""
    return FRAME_HEAD.pack(stream_id, (FLAG_FIN << 24 if fin else 0) | length)
