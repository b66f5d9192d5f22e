"""Counts the bytes of a stream, and finds the place where a fault is due.

A stream is the body of a response, without the framing of chunks, or everything after the head of a response that
switches protocols.
"""

from __future__ import annotations

from typing import Final, Protocol

__all__ = ["BodyCounter", "ChunkCounter", "MessageCounter", "StreamCounter", "StreamHead"]

_END_OF_HEAD: Final = b"\r\n\r\n"
_END_OF_LINE: Final = b"\r\n"
_LONG: Final = 127
_MEDIUM: Final = 126


class StreamHead:
    """The head of a response, which precedes its stream."""

    def __init__(self) -> None:
        self._received = bytearray()
        self.is_complete = False

    def take(self, data: bytes | memoryview) -> int:
        """Take bytes; return how many of them belong to the head."""
        if self.is_complete:
            return 0
        before = len(self._received)
        self._received += data
        end = self._received.find(_END_OF_HEAD)
        if end < 0:
            return len(data)
        self.is_complete = True
        del self._received[end + len(_END_OF_HEAD) :]
        return len(self._received) - before

    @property
    def is_chunked(self) -> bool:
        """Whether chunks follow."""
        return b"transfer-encoding: chunked" in self._received.lower()

    @property
    def is_websocket(self) -> bool:
        """Whether the frames of a WebSocket follow."""
        return b"upgrade: websocket" in self._received.lower()


class StreamCounter(Protocol):
    """Looks for the point at which a fault is due."""

    def find(self, data: bytes | memoryview) -> int | None:
        """Return where in the next bytes the fault is due; None if it is not due yet."""
        ...


class BodyCounter:
    """Due after so many bytes.

    Args:
        after: How many.
    """

    def __init__(self, after: int) -> None:
        self._left = after

    def find(self, data: bytes | memoryview) -> int | None:
        """Return where in the next bytes the fault is due; None if it is not due yet."""
        if len(data) >= self._left:
            return self._left
        self._left -= len(data)
        return None


class ChunkCounter:
    """Due after so many bytes of a body that is sent in chunks; their framing is not counted.

    Args:
        after: How many bytes.
    """

    def __init__(self, after: int) -> None:
        self._left = after
        self._in_chunk = 0  # bytes of the chunk that are still to come
        self._line = bytearray()  # of the framing that is still to come

    def find(self, data: bytes | memoryview) -> int | None:
        """Return where in the next bytes the fault is due; None if it is not due yet."""
        position = 0
        while True:
            if not self._left:
                return position
            if position == len(data):
                return None
            if self._in_chunk:
                taken = min(self._in_chunk, self._left, len(data) - position)
                self._in_chunk -= taken
                self._left -= taken
                position += taken
            else:
                self._take_framing(data[position])
                position += 1

    def _take_framing(self, byte: int) -> None:
        self._line.append(byte)
        # The end of a chunk is an empty line, and then the next size follows.
        if bytes(self._line) == _END_OF_LINE:
            self._line.clear()
        elif self._line.endswith(_END_OF_LINE):
            self._in_chunk = int(bytes(self._line).split(b";")[0], 16)
            self._line.clear()


class MessageCounter:
    """Due between two frames of a WebSocket, after so many bytes at least.

    Args:
        after: How many bytes, frames and all.
    """

    def __init__(self, after: int) -> None:
        self._left = after
        self._head = bytearray()
        self._in_frame = 0  # bytes of the frame that are still to come

    def find(self, data: bytes | memoryview) -> int | None:
        """Return where in the next bytes the fault is due; None if it is not due yet."""
        position = 0
        while True:
            if self._left <= 0 and not self._in_frame and not self._head:
                return position
            if position == len(data):
                return None
            taken = min(self._in_frame, len(data) - position)
            if taken:
                self._in_frame -= taken
            else:
                taken = 1
                self._take_head(data[position])
            position += taken
            self._left -= taken

    def _take_head(self, byte: int) -> None:
        """Take a byte of a frame's head, which a server does not mask."""
        self._head.append(byte)
        if len(self._head) < 2:
            return
        length = self._head[1]
        size = {_LONG: 10, _MEDIUM: 4}.get(length, 2)
        if len(self._head) == size:
            self._in_frame = length if size == 2 else int.from_bytes(self._head[2:])
            self._head.clear()
