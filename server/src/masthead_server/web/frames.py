"""Frames of WebSockets (RFC 6455), from the server's side.

Written here rather than taken from `websockets`, which the client uses, so that no bug hides on both sides; only masks
are applied by its C code. It is stricter than most: lengths must have their shortest form, frames must be masked, and
no extension is negotiated.
"""

from __future__ import annotations

import functools
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FrameError", "FrameParser", "Message", "Opcode", "encode_close", "encode_frame"]

_FIN: Final = 0x80
_RESERVED: Final = 0x70
_MASKED: Final = 0x80
_MAX_CONTROL: Final = 125
_TWO_BYTES: Final = 126
_EIGHT_BYTES: Final = 127
_PROTOCOL_ERROR: Final = 1002
_TOO_BIG: Final = 1009
_SENT_CODES: Final = frozenset({1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014})
_FRAMES_PER_MESSAGE: Final = 100_000
"""Frames of one message; empty ones would add up to no limit of bytes."""
_FRAMES_AT_ONCE: Final = 1_000
"""Frames that one call parses: one read of a socket may hold 40,000, which take 80 ms."""


class Opcode(IntEnum):
    """What a frame is."""

    CONTINUATION = 0x0
    TEXT = 0x1
    BINARY = 0x2
    CLOSE = 0x8
    PING = 0x9
    PONG = 0xA


_OPCODES: Final = frozenset(Opcode)


class Message(NamedTuple):
    """A message, or a control frame."""

    opcode: Opcode
    data: bytes


class FrameError(Exception):
    """The client has broken the protocol.

    Args:
        code: The close code for it.
        reason: The problem.
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class _Head(NamedTuple):
    opcode: Opcode
    is_final: bool
    mask: bytes
    length: int


class FrameParser:
    """Assembles messages from masked frames, which may arrive in pieces.

    Args:
        max_size: Bytes of a message.

    Attributes:
        error: How the client has broken the protocol; None if it has not. Nothing is parsed after that.
        has_more: Whether `feed` has left frames for the next call, which may bring no bytes.
    """

    def __init__(self, max_size: int) -> None:
        self.error: FrameError | None = None
        self.has_more = False
        self._max_size = max_size
        self._unmask = _load_unmask()
        self._received = bytearray()
        self._head: _Head | None = None
        self._opcode: Opcode | None = None  # of the message that is in pieces
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes | memoryview) -> list[Message]:
        """Return the messages and control frames that these bytes complete, up to an `error` or a number of frames."""
        messages: list[Message] = []
        self.has_more = False
        if self.error is not None:
            return messages
        try:
            if not self._received:
                # Whole frames are parsed in place, and only the rest is copied.
                with memoryview(data) as view:
                    self._received += view[self._parse(view, messages) :]
                return messages
            self._received += data
            with memoryview(self._received) as view:
                end = self._parse(view, messages)
            # Once per call: deleting in front of each frame would copy the rest of a flood every time.
            del self._received[:end]
        except FrameError as error:
            self.error = error
        return messages

    def _parse(self, received: memoryview, messages: list[Message]) -> int:
        """Add the messages that are complete; returns where the rest begins."""
        at = 0
        for _ in range(_FRAMES_AT_ONCE):
            if self._head is None:
                self._head, at = self._parse_head(received, at)
                if self._head is None:
                    return at
            head = self._head
            if len(received) - at < head.length:
                return at
            payload = self._unmask(received[at : at + head.length], head.mask)
            at += head.length
            self._head = None
            message = self._take(head, payload)
            if message is not None:
                messages.append(message)
        self.has_more = True
        return at

    def _parse_head(self, received: memoryview, at: int) -> tuple[_Head | None, int]:
        """Return the head at this place, and where the payload begins; None while it is incomplete."""
        have = len(received) - at
        if have < 2:
            return None, at
        first, second = received[at], received[at + 1]
        kind = second & ~_MASKED
        extended = 2 if kind == _TWO_BYTES else 8 if kind == _EIGHT_BYTES else 0
        # Before the rest has arrived: a client that sends nonsense may never send it.
        if first & _RESERVED:
            raise FrameError(_PROTOCOL_ERROR, "reserved bits must be 0")
        if first & 0xF not in _OPCODES:
            raise FrameError(_PROTOCOL_ERROR, f"unknown opcode {first & 0xF}")
        if not second & _MASKED:
            raise FrameError(_PROTOCOL_ERROR, "frames of a client must be masked")
        opcode, is_final = Opcode(first & 0xF), bool(first & _FIN)
        if opcode >= Opcode.CLOSE and (not is_final or kind > _MAX_CONTROL):
            raise FrameError(_PROTOCOL_ERROR, "control frames are short and in one piece")
        if have < 2 + extended + 4:
            return None, at
        length = int.from_bytes(received[at + 2 : at + 2 + extended]) if extended else kind
        if extended and length < (_TWO_BYTES if extended == 2 else 2**16):
            raise FrameError(_PROTOCOL_ERROR, "a length must have its shortest form")
        if opcode < Opcode.CLOSE:
            self._check_order(opcode)
            if length > self._max_size - self._size:
                raise FrameError(_TOO_BIG, f"a message has at most {self._max_size} bytes")
        start = at + 2 + extended + 4
        return _Head(opcode, is_final, bytes(received[start - 4 : start]), length), start

    def _check_order(self, opcode: Opcode) -> None:
        if (opcode is Opcode.CONTINUATION) != (self._opcode is not None):
            raise FrameError(_PROTOCOL_ERROR, "a message begins or continues at the wrong place")
        if len(self._pieces) >= _FRAMES_PER_MESSAGE:
            raise FrameError(_TOO_BIG, f"a message has at most {_FRAMES_PER_MESSAGE} frames")

    def _take(self, head: _Head, payload: bytes) -> Message | None:
        """Take a whole frame; returns the message that it completes."""
        if head.opcode >= Opcode.CLOSE:
            if head.opcode is Opcode.CLOSE:
                _check_close(payload)
            return Message(head.opcode, payload)
        opcode = self._opcode if self._opcode is not None else head.opcode
        if head.is_final and not self._pieces:
            self._opcode = None
            return Message(opcode, payload)
        self._pieces.append(payload)
        self._size += len(payload)
        self._opcode = opcode
        if not head.is_final:
            return None
        whole = b"".join(self._pieces)
        self._opcode, self._size = None, 0
        self._pieces.clear()
        return Message(opcode, whole)


@functools.cache
def _load_unmask() -> Callable[[memoryview, bytes], bytes]:
    """Return the function that applies a mask: in C, where `websockets` was compiled."""
    # With the first WebSocket: importing this reads package metadata, 15 ms that most servers would pay in vain.
    try:
        from websockets.speedups import apply_mask
    except ImportError:
        from websockets.utils import apply_mask
    return apply_mask


def _check_close(payload: bytes) -> None:
    """Check the code and the reason of a close frame, if there are any."""
    if not payload:
        return
    code = int.from_bytes(payload[:2])
    if len(payload) < 2 or not (code in _SENT_CODES or 3000 <= code < 5000):
        raise FrameError(_PROTOCOL_ERROR, "invalid close code")
    try:
        payload[2:].decode("utf-8")
    except UnicodeDecodeError:
        raise FrameError(1007, "the reason of a close frame must be UTF-8") from None


def encode_frame(opcode: int, payload: bytes) -> bytes:
    """Encode a frame in one piece, as a server sends it."""
    size = len(payload)
    if size < _TWO_BYTES:
        return bytes((_FIN | opcode, size)) + payload
    if size < 2**16:
        return bytes((_FIN | opcode, _TWO_BYTES)) + size.to_bytes(2) + payload
    return bytes((_FIN | opcode, _EIGHT_BYTES)) + size.to_bytes(8) + payload


def encode_close(code: int, reason: str = "") -> bytes:
    """Encode a close frame; a long reason is cut."""
    text = reason.encode()[: _MAX_CONTROL - 2].decode("utf-8", "ignore")
    return encode_frame(Opcode.CLOSE, code.to_bytes(2) + text.encode())
