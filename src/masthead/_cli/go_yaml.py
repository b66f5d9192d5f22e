"""YAML as kubectl writes it, byte for byte: the styles, the line breaks and the order of keys of Go's library."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, cast

from masthead._errors.control_characters import BIDI

if TYPE_CHECKING:
    from masthead._meta.plain import Plain

__all__ = ["dump", "sort_keys"]

_WIDTH: Final = 80
_STEP: Final = 2
_MAX_SIMPLE_KEY_BYTES: Final = 128
_INT64: Final = 1 << 63

_LETTERS: Final = re.compile(r"[A-Za-z]*")
_RESOLVED: Final = frozenset(
    word
    for words in (
        "y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF ~ null Null NULL",
        ".nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF",
    )
    for word in words.split()
)
"""Words that a parser reads as something else than text."""
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[oO]?(?P<octal>[0-7]+)|0[bB](?P<binary>[01]+)|[0-9]+)"
)
_BASES: Final = {"hex": 16, "octal": 8, "binary": 2}
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME: Final = r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?"
_TIMESTAMP: Final = re.compile(
    rf"([0-9]{{4}})-([0-9]{{1,2}})-([0-9]{{1,2}})(?:[Tt]{_TIME}(?:Z|[-+][0-9]{{2}}:[0-9]{{2}})| {_TIME})?"
)
_UNPRINTABLE: Final = re.compile(
    # Go's library escapes everything beyond the basic plane, too. Direction marks reorder the text around them, so
    # that they are escaped here only.
    rf"[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]|[{BIDI}]"
)
_INDICATOR: Final = re.compile(r"""[#,\[\]{}&*!|>'"%@`]|---|\.\.\.|[?:\-](?=[ \t]|$)""")
_INNER_INDICATOR: Final = re.compile(r":(?=[ \t]|$)|[ \t]#")
_ESCAPES: Final = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\u2028": "L",
    "\u2029": "P",
}


def dump(value: object) -> str:
    """Return plain data as one document, with sorted keys.

    Raises:
        RecursionError: If it is nested too deeply.
    """
    lines: list[str] = []
    leaf = value
    if isinstance(value, dict) and value:
        _write_mapping(lines, cast("Plain", value), 0)
    elif isinstance(value, list) and value:
        _write_list(lines, cast("list[object]", value), 0)
    else:
        lines.append(_leaf(leaf, 0, _STEP) + "\n")
    return "".join(lines)


def sort_keys(keys: list[str]) -> list[str]:
    """Sort the keys of a mapping as Go's library does: numbers within them count as numbers."""
    if all(_LETTERS.fullmatch(key) for key in keys):
        return sorted(keys)
    return sorted(keys, key=functools.cmp_to_key(_compare))


def _write_mapping(lines: list[str], fields: Plain, indent: int, lead: str = "") -> None:
    """Write the fields of a mapping.

    Args:
        lines: The text so far.
        fields: The mapping.
        indent: The indentation of its keys.
        lead: The text before the first key; empty to begin a line.
    """
    for key in sort_keys(list(fields)):
        start = f"{lead} " if lead else " " * indent
        lead = ""
        if "\n" not in key and len(key.encode("utf-8", "replace")) <= _MAX_SIMPLE_KEY_BYTES:
            _write_value(lines, fields[key], indent, f"{start}{_leaf(key, 0, indent, is_key=True)}:")
            continue
        lines.append(f"{start}? {_leaf(key, indent + _STEP, indent + _STEP)}\n")
        _write_value(lines, fields[key], indent, f"{' ' * indent}:", is_compact=True)


def _write_list(lines: list[str], items: list[object], indent: int, lead: str = "") -> None:
    """Write the items of a list; the arguments are those of `_write_mapping`."""
    for item in items:
        start = f"{lead} " if lead else " " * indent
        lead = ""
        _write_value(lines, item, indent, f"{start}-", is_compact=True)


def _write_value(lines: list[str], value: object, indent: int, lead: str, *, is_compact: bool = False) -> None:
    """Write a value behind its key or its dash; a compact mapping or list begins in the same line."""
    leaf = value
    if isinstance(value, dict) and value:
        if not is_compact:
            lines.append(f"{lead}\n")
        _write_mapping(lines, cast("Plain", value), indent + _STEP, lead if is_compact else "")
    elif isinstance(value, list) and value:
        if not is_compact:
            lines.append(f"{lead}\n")
        inner = indent + _STEP if is_compact else indent
        _write_list(lines, cast("list[object]", value), inner, lead if is_compact else "")
    else:
        text = _leaf(leaf, len(lead) + 1, indent + _STEP)
        # The line feeds that end a literal block are its own.
        lines.append(f"{lead} {text}" if text.endswith("\n") else f"{lead} {text}\n")


def _leaf(value: object, column: int, indent: int, *, is_key: bool = False) -> str:
    """Return the text of a scalar or of an empty collection.

    Args:
        value: The value.
        column: The column in which it begins.
        indent: The indentation of further lines.
        is_key: Whether it has to stay in one line.
    """
    match value:
        case str():
            return _text(value, column, indent, is_key=is_key)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return _format_float(value)
        case dict():
            return "{}"
        case list():
            return "[]"
        case _:
            return str(value)


def _text(text: str, column: int, indent: int, *, is_key: bool) -> str:
    is_special = _UNPRINTABLE.search(text) is not None
    if "\n" in text:
        # A block cannot show blanks before its line feeds, or at its end.
        if is_key or is_special or text.endswith(" ") or " \n" in text:
            return _double_quoted(text, column, indent, wraps=not is_key)
        return _literal(text, indent)
    if is_special or _is_resolved(text):
        return _double_quoted(text, column, indent, wraps=not is_key)
    is_plain = not (
        text.startswith(" ") or text.endswith(" ") or _INDICATOR.match(text) or _INNER_INDICATOR.search(text, 0)
    )
    if is_plain:
        return text if is_key else _wrap(text, column, indent)
    quoted = text.replace("'", "''")
    return f"'{quoted}'" if is_key else f"'{_wrap(quoted, column + 1, indent)}'"


def _wrap(text: str, column: int, indent: int) -> str:
    """Break a text at the first single blank behind each full line."""
    if column + len(text) <= _WIDTH:
        return text
    made: list[str] = []
    for at, character in enumerate(text):
        if character == " " and column > _WIDTH and 0 < at < len(text) - 1 and " " not in (text[at - 1], text[at + 1]):
            made.append("\n" + " " * indent)
            column = indent
        else:
            made.append(character)
            column += 1
    return "".join(made)


def _double_quoted(text: str, column: int, indent: int, *, wraps: bool) -> str:
    made, column, after_blank = ['"'], column + 1, False
    # Behind a byte order mark, Go's library takes every character for one.
    escapes_all = text.startswith("\ufeff")
    for at, character in enumerate(text):
        piece = _escape(character, is_forced=escapes_all)
        if (
            character == " "
            and not escapes_all
            and wraps
            and not after_blank
            and column > _WIDTH
            and 0 < at < len(text) - 1
        ):
            # A backslash keeps a blank at the beginning of a line.
            piece = "\n" + " " * indent + ("\\" if text[at + 1] == " " else "")
            column = indent
        made.append(piece)
        column += len(piece) if not piece.startswith("\n") else piece.count("\\")
        after_blank = character == " "
    return "".join([*made, '"'])


def _escape(character: str, *, is_forced: bool = False) -> str:
    if not is_forced and character not in '"\\\n' and not _UNPRINTABLE.match(character):
        return character
    if character in _ESCAPES:
        return f"\\{_ESCAPES[character]}"
    code = ord(character)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _literal(text: str, indent: int) -> str:
    hint = str(_STEP) if text[0] in " \n" else ""
    if not text.endswith("\n"):
        hint += "-"
    elif text == "\n" or text.endswith("\n\n"):
        hint += "+"
    body = "\n".join(f"{' ' * indent}{line}" if line else "" for line in text.removesuffix("\n").split("\n"))
    return f"|{hint}\n{body}\n"


def _is_resolved(text: str) -> bool:
    """Whether a parser would not read a plain text as text."""
    if not text or text in _RESOLVED:
        return True
    if text[0] not in "+-.0123456789":
        return False
    if text[0] == ".":
        return _is_float(text)
    digits = text.replace("_", "")
    return _is_timestamp(text) or _is_integer(digits) or _is_float(digits) or _BASE_60.fullmatch(text) is not None


def _is_float(text: str) -> bool:
    # A number too large for a float is text.
    return _FLOAT.fullmatch(text) is not None and abs(float(text)) != float("inf")


def _is_integer(text: str) -> bool:
    found = _INTEGER.fullmatch(text)
    if found is None:
        return False
    base = next((base for name, base in _BASES.items() if found[name]), 0)
    if not base:
        return False  # the rule of floats covers decimal digits of any length
    value = int(found[next(name for name in _BASES if found[name])], base)
    return value <= (_INT64 if found["sign"] == "-" else _INT64 - 1 if found["sign"] else 2 * _INT64 - 1)


def _is_timestamp(text: str) -> bool:
    from datetime import date, time

    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return False
    year, month, day, *clock = (int(number) for number in found.groups() if number is not None)
    try:
        # Only the ranges matter; year 0, which Go knows, is a leap year.
        date(year or 4, month, day)
        if clock:
            time(clock[0], clock[1], clock[2])
    except ValueError:
        return False
    return True


def _format_float(value: float) -> str:
    from masthead._schema.go_format import go_value

    # The JSON in between has no fraction for whole numbers.
    return str(int(value)) if value.is_integer() and abs(value) < 2 * _INT64 else go_value(value)


def _compare(left: str, right: str) -> int:
    """Compare two keys: negative if the left one comes first."""
    for at, (one, other) in enumerate(zip(left, right, strict=False)):
        if one == other:
            continue
        if one.isalpha() or other.isalpha():
            if one.isalpha() and other.isalpha():
                return -1 if one < other else 1
            # Letters come after everything else.
            return -1 if other.isalpha() else 1
        return _compare_numbers(left, right, at) or (-1 if one < other else 1)
    return len(left) - len(right)


def _compare_numbers(left: str, right: str, at: int) -> int:
    """Compare the numbers that begin, or go on, at a position; 0 if they are the same."""
    start = 0
    if "0" in (left[at], right[at]):
        # A zero behind other digits is one digit more of a number that is not zero.
        before = re.search(r"[0-9]*$", left[:at])
        start = 1 if before is not None and before[0].strip("0") else 0
    (one, one_end), (other, other_end) = (_read_number(text, at, start) for text in (left, right))
    return (one > other) - (one < other) or (one_end > other_end) - (one_end < other_end)


def _read_number(text: str, at: int, number: int) -> tuple[int, int]:
    while at < len(text) and text[at].isdecimal():
        # Go's 64 bits overflow.
        number = (number * 10 + ord(text[at]) - ord("0") + _INT64) % (2 * _INT64) - _INT64
        at += 1
    return number, at
