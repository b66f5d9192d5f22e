"""Base64 as Go decodes it: strictly, and with the position of an error."""

from __future__ import annotations

import base64
import re
from typing import Final

__all__ = ["decode_base64"]

_STRANGE: Final = re.compile(rb"[^A-Za-z0-9+/]")
_STRANGE_IN_URL: Final = re.compile(rb"[^A-Za-z0-9_-]")
"""Characters that are in neither alphabet."""
_NEWLINES: Final = b"\r\n"


def decode_base64(text: str, *, is_url: bool = False) -> bytes:
    """Decode text in the standard alphabet with padding, or in the URL alphabet without.

    Raises:
        ValueError: If it is not base64; the message is Go's.
    """
    data = text.encode("utf-8", "surrogateescape").translate(None, _NEWLINES)
    # Go's encoding without padding takes "=" for an illegal character, wherever it is.
    body = data if is_url else data.rstrip(b"=")
    strange = _STRANGE_IN_URL if is_url else _STRANGE
    found = strange.search(body)
    at = found.start() if found else None
    if at is None:
        padding = 0 if is_url else len(data) - len(body)
        at = _misplaced_end(len(body), padding, is_url=is_url)
    if at is not None:
        raise ValueError(f"illegal base64 data at input byte {at}")
    padded = body + b"=" * (-len(body) % 4)
    return base64.b64decode(padded, altchars=b"-_" if is_url else None)


def _misplaced_end(length: int, padding: int, *, is_url: bool) -> int | None:
    """The position where a text ends too early or too late, if it does."""
    over = length % 4
    if over and not padding and not is_url:
        return length - over
    if over == 1:
        return length - 1 if is_url else length
    wanted = 0 if is_url or over == 0 else 4 - over
    if padding == wanted:
        return None
    return length + min(padding, wanted)
