"""What ``printf`` and ``echo -e`` print: their escapes and directives, as bash's own commands read them. Pure.

A byte that is no ASCII is a surrogate, as everywhere in the shell: it is encoded with ``surrogateescape``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["PrintfError", "format_pieces", "unescape"]

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
    r"|%(?:(?P<percent>%)|(?P<flags>[-+ 0#]*)(?P<width>\*|[0-9]*)(?:\.(?P<precision>\*|[0-9]*))?(?P<kind>.?))",
    re.DOTALL,
)
_ENDS_OUTPUT: Final = "c"
_MAX_WIDTH: Final = 65_536
_UNSIGNED: Final = "ouxX"
_FLOATS: Final = "eEfFgG"
_KINDS: Final = f"bcdisu{_UNSIGNED}{_FLOATS}"
_INTEGER: Final = re.compile(r"\s*([-+]?(?:0[xX][0-9a-fA-F]{1,15}|0[0-7]{0,20}|[1-9][0-9]{0,17}))")
_FLOAT: Final = re.compile(r"\s*[-+]?(?:[0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})(?:[eE][-+]?[0-9]{1,3})?")
_MAX_DIGITS: Final = 1000
_MAX_PROBLEMS: Final = 100


class PrintfError(Exception):
    """A directive is unknown, which ends the output."""


class _Directive(NamedTuple):
    """A directive; a star stands for a width or precision among the arguments."""

    flags: str
    width: str
    precision: str | None
    kind: str


class _Values:
    """The arguments of ``printf``.

    Args:
        values: The arguments.
        problems: Gets the arguments that are no numbers.
    """

    def __init__(self, values: Sequence[str], problems: list[str]) -> None:
        self._values = values
        self._problems = problems
        self.used = 0

    def take(self) -> str:
        """Return the next argument; empty behind the last one."""
        self.used += 1
        return self._values[self.used - 1] if self.used <= len(self._values) else ""

    def take_integer(self) -> int:
        """Return the next argument as an integer."""
        text = self.take()
        if text[:1] in {"'", '"'}:
            return ord(text[1]) if len(text) > 1 else 0
        found = _INTEGER.match(text)
        if found is None or found.end() != len(text):
            self._complain(text)
        return _read_integer(found[1]) if found is not None else 0

    def take_float(self) -> float:
        """Return the next argument as a floating-point number."""
        text = self.take()
        if not _FLOAT.fullmatch(text):
            self._complain(text)
            return 0.0
        return float(text)

    def _complain(self, text: str) -> None:
        # A missing argument is zero. A format may be used for very many arguments.
        if text and len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(text)


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


def format_pieces(form: str, values: Sequence[str], problems: list[str] | None = None) -> Iterator[str]:
    """Yield what ``printf`` prints, piece by piece. The format is used again until every value is printed.

    Args:
        form: The format.
        values: The arguments behind it.
        problems: Gets the arguments that should be numbers, and are none.

    Raises:
        PrintfError: If a directive is unknown.
    """
    parts = _parse(form)
    given = _Values(values, [] if problems is None else problems)
    while True:
        for part in parts:
            if isinstance(part, str):
                yield part
                continue
            text, is_last = _format(part, given)
            yield text
            if is_last:
                return
        if not 0 < given.used < len(values):
            return


def _format(directive: _Directive, values: _Values) -> tuple[str, bool]:
    """Return what a directive prints, and whether nothing follows."""
    kind, flags = directive.kind, directive.flags
    if kind not in _KINDS or not kind:
        raise PrintfError(f"%{kind}: invalid directive")
    width = values.take_integer() if directive.width == "*" else _limit_width(directive.width)
    # A negative width means a field that is filled on the right.
    if width < 0:
        flags, width = f"{flags}-", -width
    exactly = values.take_integer() if directive.precision == "*" else _limit_width(directive.precision or "")
    has_precision = directive.precision is not None and exactly >= 0
    letter = {"b": "s", "c": "s", "u": "d", "i": "d"}.get(kind, kind)
    precision = (
        f".{min(exactly, _MAX_WIDTH if kind in 'bs' or kind not in _FLOATS else _MAX_DIGITS)}" if has_precision else ""
    )
    form = f"%{flags}{min(width, _MAX_WIDTH) or ''}{precision}{letter}"
    if kind == "b":
        text, is_last = unescape(values.take(), _IN_VALUE)
        return form % text, is_last
    if kind in "sc":
        text = values.take()
        return form % (text[:1] if kind == "c" else text), False
    if kind in _FLOATS:
        return form % values.take_float(), False
    number = values.take_integer()
    return _format_integer(form, kind, number), False


def _format_integer(form: str, kind: str, number: int) -> str:
    if kind not in _UNSIGNED:
        return form % number
    text = form % (number % 2**64)
    # Python writes octal numbers with a letter.
    return text.replace("0o", "0", 1)


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
            parts.append(_Directive(found["flags"], found["width"], found["precision"], found["kind"]))
    parts.append(form[position:])
    return [part for part in parts if part]


def _limit_width(digits: str) -> int:
    """A width or precision; too large ones would be a way to use all memory."""
    number = digits.lstrip("0") or "0"
    return _MAX_WIDTH if len(number) > len(str(_MAX_WIDTH)) else min(int(number), _MAX_WIDTH)


def _read_integer(text: str) -> int:
    """Read a decimal, octal or hexadecimal number, as C does."""
    sign, digits = (-1 if text.startswith("-") else 1), text.lstrip("+-")
    if digits[:2] in {"0x", "0X"}:
        return sign * int(digits, 16)
    if len(digits) > 1 and digits.startswith("0"):
        return sign * int(digits, 8)
    return sign * int(digits)


def _character(escape: str) -> str:
    """The character of an escape, which is given without its backslash."""
    if escape in _LETTERS:
        return _LETTERS[escape]
    number = int(escape[1:], 16) if escape[0] == "x" else int(escape, 8) & 0xFF
    return chr(number) if number < 0x80 else chr(0xDC00 + number)
