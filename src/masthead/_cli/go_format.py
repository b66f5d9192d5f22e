"""Plain data as Go's package ``fmt`` prints it with ``%v``. Pure.

Go knows more types than JSON: `GoInt` is its int, that of constants and lengths; other ints are its int64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._printers.numbers import go_float

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "FormatLimitError",
    "GoByte",
    "GoInt",
    "escape_character",
    "format_each",
    "format_scalar",
    "format_value",
    "go_quote",
    "sprint",
    "type_name",
]

_MAX_DEPTH: Final = 200
_ESCAPES: Final = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_BMP: Final = 0xFFFF
_DELETE: Final = 0x7F


class FormatLimitError(ValueError):
    """Data is nested too deeply to be printed."""


class GoInt(int):
    """An int of Go: a constant, or a length."""


class GoByte(int):
    """A byte of a string."""


_TYPES: Final[tuple[tuple[type, str], ...]] = (
    # The first that fits counts, so subclasses come before their bases.
    (type(None), "<nil>"),
    (bool, "bool"),
    (GoByte, "uint8"),
    (GoInt, "int"),
    (int, "int64"),
    (float, "float64"),
    (str, "string"),
    (list, "[]interface {}"),
)


def type_name(value: object) -> str:
    """The name of a value's type in Go."""
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "map[string]interface {}")


def format_value(value: object) -> str:
    """A value as ``%v`` prints it: ``map[app:web]``, ``[1 2]``.

    Raises:
        FormatLimitError: If it is nested too deeply.
    """
    return format_each(value, format_scalar)


def format_scalar(value: object) -> str:
    """A scalar as ``%v`` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case _:
            return str(value)


def format_each(value: object, scalar: Callable[[object], str], depth: int = 0) -> str:
    """Lay out lists and maps.

    Args:
        value: The value.
        scalar: Formats keys and elements.
        depth: The level of the value.

    Raises:
        FormatLimitError: If it is nested too deeply.
    """
    # Python would end with a RecursionError somewhere.
    if depth > _MAX_DEPTH:
        raise FormatLimitError("the data is nested too deeply")
    if isinstance(value, list):
        return f"[{' '.join(format_each(item, scalar, depth + 1) for item in cast('list[object]', value))}]"
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return (
            f"map[{' '.join(f'{scalar(key)}:{format_each(fields[key], scalar, depth + 1)}' for key in sorted(fields))}]"
        )
    return scalar(value)


def sprint(values: Sequence[object], *, is_line: bool = False) -> str:
    """Values as ``print`` and ``println`` join them.

    Args:
        values: The values.
        is_line: Whether blanks stand between all of them, and a line feed after them.
    """
    parts: list[str] = []
    for at, value in enumerate(values):
        # Without println, only values that are no strings are separated.
        if at and (is_line or not (isinstance(value, str) or isinstance(values[at - 1], str))):
            parts.append(" ")
        parts.append(format_value(value))
    return "".join(parts) + ("\n" if is_line else "")


def go_quote(text: str, *, ascii_only: bool = False) -> str:
    """A text in double quotes, as a string of Go."""
    inside = "".join(escape_character(character, '"', ascii_only=ascii_only) for character in text)
    return f'"{inside}"'


def escape_character(character: str, quote: str, *, ascii_only: bool = False) -> str:
    """A character within quotes of Go."""
    code = ord(character)
    if character in {quote, "\\"}:
        return f"\\{character}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    if (character.isascii() or not ascii_only) and character.isprintable():
        return character
    if code < ord(" ") or code == _DELETE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _BMP else f"\\U{code:08x}"
