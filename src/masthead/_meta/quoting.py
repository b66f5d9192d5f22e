"""Strings as Go quotes them in its messages."""

from __future__ import annotations

from typing import Final

__all__ = ["quoted"]

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_LONG: Final = 10_000
"""Characters of a text that is escaped character by character."""


def quoted(value: str) -> str:
    """Write a string as Go's ``%q`` does."""
    if value.isprintable() and '"' not in value and "\\" not in value:  # nearly every text, without a loop
        return f'"{value}"'
    if len(value) > _LONG:
        # differs from Go, which escapes only unprintable characters, and some of them otherwise: checking each
        # character takes too long.
        escaped = value.encode("unicode_escape").decode("ascii").replace('"', '\\"')
        return f'"{escaped}"'
    strange = {character for character in set(value) if character in _ESCAPES or not character.isprintable()}
    # One after the other, each over all of the text, is many times faster than character by character. The
    # backslash comes first: all others become something that has one.
    for character in sorted(strange, key="\\".__ne__):
        value = value.replace(character, _escape(character))
    return f'"{value}"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
