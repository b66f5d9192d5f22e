"""Escapes for terminal control characters in foreign text."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BIDI", "escape_controls"]

BIDI: Final = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Line separators and bidirectional marks, as in a character class: they reorder the text around them."""
_CONTROLS: Final = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}\ud800-\udfff]")
"""C0 except tab and line feed, DEL, C1, direction marks, and surrogates, which cannot be encoded."""
_DELETE: Final = "\x7f"


def escape_controls(text: str) -> str:
    r"""Make control characters visible, as terminals echo them: ESC becomes ``^[``, a C1 character ``\x9b``.

    Tabs and line feeds stay. Escaping twice changes nothing more.
    """
    return _CONTROLS.sub(_escape, text)


def _escape(control: re.Match[str]) -> str:
    character = control[0]
    # Caret notation, as terminals echo it; it exists for C0 and DEL only.
    if character < " ":
        return f"^{chr(ord(character) + ord('@'))}"
    # ascii() writes C1, bidirectional marks and surrogates as escapes.
    return "^?" if character == _DELETE else ascii(character)[1:-1]
