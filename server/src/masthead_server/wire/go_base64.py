"""Base64 as Go decodes it: strictly, and with the position of an error."""

from __future__ import annotations

import base64
import re
from typing import Final

__all__ = ["decode_base64"]

_STANDARD: Final = re.compile(rb"[A-Za-z0-9+/]*+={0,2}")
_URL: Final = re.compile(rb"[A-Za-z0-9_-]*+")
_STRANGE: Final = re.compile(rb"[^A-Za-z0-9+/\r\n]")
_STRANGE_IN_URL: Final = re.compile(rb"[^A-Za-z0-9_\r\n-]")
"""Characters that are in neither alphabet."""
_NEWLINES: Final = b"\r\n"


def decode_base64(text: str, *, is_url: bool = False) -> bytes:
    """Decode text in the standard alphabet with padding, or in the URL alphabet without; newlines are ignored.

    Raises:
        ValueError: If it is not base64; the message is Go's.
    """
    data = text.encode("utf-8", "surrogateescape")
    body = data.translate(None, _NEWLINES)
    has_end = len(body) % 4 != 1 if is_url else len(body) % 4 == 0
    if not has_end or not (_URL if is_url else _STANDARD).fullmatch(body):
        raise ValueError(f"illegal base64 data at input byte {_error_position(data, is_url=is_url)}")
    padded = body + b"=" * (-len(body) % 4)
    return base64.b64decode(padded, altchars=b"-_" if is_url else None)


def _error_position(data: bytes, *, is_url: bool) -> int:
    """The position that Go reports for data that it does not decode.

    Go reads four letters at a time. Where the data ends among them, it counts them back, and not the newlines.
    """
    strange = (_STRANGE_IN_URL if is_url else _STRANGE).search(data)
    at = len(data) if strange is None else strange.start()
    letters = at - data.count(b"\n", 0, at) - data.count(b"\r", 0, at)
    if strange is None:
        return at - letters % 4
    if strange[0] != b"=" or is_url or letters % 4 < 2:
        return at
    return _position_in_padding(data, at, letters % 4)


def _position_in_padding(data: bytes, at: int, letters: int) -> int:
    """The position of an error from the first padding character on, after two or three letters."""
    following = _next(data, at + 1)
    if letters == 2:
        if following == len(data):
            return following
        if data[following] != ord("="):
            return following - 1
        following = _next(data, following + 1)
    return following


def _next(data: bytes, at: int) -> int:
    """The position of the next byte that is no newline, or the length of the data."""
    while at < len(data) and data[at] in _NEWLINES:
        at += 1
    return at
