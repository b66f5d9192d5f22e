"""Frames of WebSockets as a client sends them."""

from __future__ import annotations

MASK = b"\x12\x34\x56\x78"


def mask_frame(
    opcode: int, payload: bytes, *, is_final: bool = True, reserved: int = 0, form: int | None = None
) -> bytes:
    """Encode a frame.

    Args:
        opcode: The opcode.
        payload: The payload.
        is_final: Whether it ends its message.
        reserved: The three reserved bits.
        form: Bytes of the extended length, 0, 2 or 8; the shortest by default.
    """
    size = len(payload)
    if form is None:
        form = 0 if size < 126 else 2 if size < 2**16 else 8
    length = bytes((0x80 | size,)) if not form else bytes((0x80 | (126 if form == 2 else 127),)) + size.to_bytes(form)
    masked = bytes(byte ^ MASK[index % 4] for index, byte in enumerate(payload))
    return bytes(((0x80 if is_final else 0) | reserved << 4 | opcode,)) + length + MASK + masked
