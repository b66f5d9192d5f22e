"""Characters that control a terminal, made visible: for every text from elsewhere that people read."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["BIDI", "escape_controls"]

BIDI: Final = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""Line separators and bidirectional marks, as in a character class: they reorder the text around them."""
_CONTROLS: Final = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI}\ud800-\udfff]")
"""C0 but for tab and line feed, DEL, C1, direction, and surrogates, which no encoding has."""
_DELETE: Final = "\x7f"


def escape_controls(text: str) -> str:
    r"""Make control characters visible, as terminals echo them: ESC becomes ``^[``, a C1 character ``\x9b``.

    Tabs and line feeds stay. Escaping twice changes nothing more.
    """
    return _CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if character < " ":
        return f"^{chr(ord(character) + ord('@'))}"
    return "^?" if character == _DELETE else ascii(character)[1:-1]
