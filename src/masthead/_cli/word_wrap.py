"""Paragraphs within a width, as kubectl wraps and indents them. Pure."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["indent", "wrap"]

_WORD: Final = re.compile(r"([^\S\n\u00a0]*)((?:\S|\u00a0)*)")
"""Blanks and the word after them; a no-break space belongs to the word."""


def wrap(text: str, width: int) -> str:
    """Break lines at blanks so that they fit a width. Longer words stay whole, and blanks at a break vanish."""
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    lines = [""]
    for blanks, word in _WORD.findall(line):
        before = len(lines[-1]) + len(blanks)
        # A long word at the beginning would only leave an empty line behind.
        if word and before + len(word) > width and before > 1:
            lines.append(word)
        elif word or before <= width:
            lines[-1] += blanks + word
    return "\n".join(lines)


def indent(text: str, margin: int) -> str:
    """Put blanks before every line, empty ones included."""
    return "\n".join(f"{' ' * margin}{line}" for line in text.split("\n"))
