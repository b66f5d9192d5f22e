"""What ``printf`` and ``echo -e`` print: their escapes and directives, as bash's own commands read them. Pure.

A byte that is no ASCII is a surrogate, as everywhere in the shell: it is encoded with ``surrogateescape``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["format_pieces", "unescape"]

_LETTERS: Final = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "?": "?",
}
_SHARED: Final = r"[abeEfnrtv\\]|x[0-9a-fA-F]{1,2}"
_IN_ECHO: Final = re.compile(rf"\\({_SHARED}|c|0[0-7]{{0,3}})")
_IN_VALUE: Final = re.compile(rf"\\({_SHARED}|c|0[0-7]{{0,3}}|[1-7][0-7]{{0,2}})")
_IN_FORMAT: Final = re.compile(
    rf"\\(?P<escape>{_SHARED}|[0-7]{{1,3}}|[\"'?])"
    r"|%(?:(?P<percent>%)|(?P<flags>[-+ 0]*)(?P<width>[0-9]*)(?:\.(?P<precision>[0-9]*))?(?P<kind>[bsdiouxX]))"
)
_ENDS_OUTPUT: Final = "c"
_MAX_WIDTH: Final = 65_536
_UNSIGNED: Final = "ouxX"
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")


class _Directive(NamedTuple):
    """A directive: how Python formats it, and its letter."""

    form: str
    kind: str


def unescape(text: str, escapes: re.Pattern[str] = _IN_ECHO) -> tuple[str, bool]:
    r"""Replace the escapes of ``echo -e``.

    Args:
        text: The text.
        escapes: The escapes, if they are others.

    Returns:
        The text, and whether ``\c`` ends all output behind it.
    """
    pieces: list[str] = []
    position = 0
    for found in escapes.finditer(text):
        pieces.append(text[position : found.start()])
        if found[1] == _ENDS_OUTPUT:
            return "".join(pieces), True
        pieces.append(_character(found[1]))
        position = found.end()
    return "".join((*pieces, text[position:])), False


def format_pieces(form: str, values: Sequence[str]) -> Iterator[str]:
    """Yield what ``printf`` prints, piece by piece. The format is used again until every value is printed.

    Args:
        form: The format.
        values: The arguments behind it.
    """
    parts = _parse(form)
    used = 0
    while True:
        for part in parts:
            if isinstance(part, str):
                yield part
                continue
            value = values[used] if used < len(values) else ""
            used += 1
            is_last = False
            if part.kind == "b":
                value, is_last = unescape(value, _IN_VALUE)
            yield part.form % (value if part.kind in "bs" else _number(value, part.kind))
            if is_last:
                return
        if not 0 < used < len(values):
            return


def _parse(form: str) -> list[str | _Directive]:
    parts: list[str | _Directive] = []
    position = 0
    for found in _IN_FORMAT.finditer(form):
        parts.append(form[position : found.start()])
        position = found.end()
        if found["escape"]:
            parts.append(_character(found["escape"]))
        elif found["percent"]:
            parts.append("%")
        else:
            parts.append(_directive(found))
    parts.append(form[position:])
    return [part for part in parts if part]


def _directive(found: re.Match[str]) -> _Directive:
    kind, precision = found["kind"], found["precision"]
    letter = {"b": "s", "u": "d", "i": "d"}.get(kind, kind)
    width = _limit_width(found["width"]) if found["width"] else ""
    exactly = "" if precision is None else f".{_limit_width(precision)}"
    return _Directive(f"%{found['flags']}{width}{exactly}{letter}", kind)


def _limit_width(digits: str) -> int:
    """A width or precision; too large ones would be a way to use all memory."""
    number = digits.lstrip("0") or "0"
    return _MAX_WIDTH if len(number) > len(str(_MAX_WIDTH)) else min(int(number), _MAX_WIDTH)


def _number(value: str, kind: str) -> int:
    number = int(value) if _INTEGER.fullmatch(value) else 0
    return number % 2**64 if kind in _UNSIGNED else number


def _character(escape: str) -> str:
    """The character of an escape, which is given without its backslash."""
    if escape in _LETTERS:
        return _LETTERS[escape]
    number = int(escape[1:], 16) if escape[0] == "x" else int(escape, 8) & 0xFF
    return chr(number) if number < 0x80 else chr(0xDC00 + number)
