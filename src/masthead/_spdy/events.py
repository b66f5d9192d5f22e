"""What a session reports."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

__all__ = [
    "GoneAway",
    "PingAcknowledged",
    "SpdyEvent",
    "StreamData",
    "StreamEnded",
    "StreamOpened",
    "StreamReplied",
    "StreamReset",
]


class StreamOpened(msgspec.Struct, frozen=True):
    """The peer has opened a stream, and waits for a reply or a reset."""

    stream_id: int
    headers: dict[str, str]


class StreamReplied(msgspec.Struct, frozen=True):
    """The peer has accepted our stream."""

    stream_id: int
    headers: dict[str, str]


class StreamData(msgspec.Struct, frozen=True):
    """Bytes of a stream: a view of the received bytes, never empty."""

    stream_id: int
    data: memoryview


class StreamEnded(msgspec.Struct, frozen=True):
    """The peer sends nothing more on this stream. We still may."""

    stream_id: int


class StreamReset(msgspec.Struct, frozen=True):
    """The peer has ended the stream in both directions; `ResetStatus` has most of the numbers."""

    stream_id: int
    status: int


class PingAcknowledged(msgspec.Struct, frozen=True):
    """The answer to our ping. The peer's own pings are answered by the session."""

    ping_id: int


class GoneAway(msgspec.Struct, frozen=True):
    """The peer accepts no more streams, and is about to close."""

    last_stream_id: int
    status: int


SpdyEvent: TypeAlias = (
    StreamOpened | StreamReplied | StreamData | StreamEnded | StreamReset | PingAcknowledged | GoneAway
)
