"""The format verbs of Go's ``printf``, for plain data. Pure."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Final

from masthead._cli.go_format import escape_character, format_each, format_value, go_quote, type_name
from masthead._printers.numbers import go_float

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["sprintf"]

_MAX_NUMBER: Final = 1_000_000
"""The maximum width and precision, as in Go."""
_VERB: Final = re.compile(
    r"%(?P<flags>[-+# 0]*)(?P<width>\*|\d*)(?:(?P<point>\.)(?P<precision>\*|\d*))?(?:\[(?P<index>\d*)\])?(?P<verb>.)?",
    re.DOTALL,
)
_INTEGERS: Final = {"d": "d", "b": "b", "o": "o", "x": "x", "X": "X", "O": "o"}
_PREFIXES: Final = {"b": "0b", "o": "0", "O": "0", "x": "0x", "X": "0X"}
_MAX_CODE_POINT: Final = 0x10FFFF
_MIN_PLAIN_EXPONENT: Final = -4
_FLOAT_DIGITS: Final = 400
"""Digits after which those of a float are zeros; more of them are filled up."""


def sprintf(form: str, values: Sequence[object], count: Callable[[int], None]) -> str:
    """Values as ``printf`` formats them.

    Args:
        form: The format.
        values: The values.
        count: Called with the number of characters that a value may take, before it takes them.
    """
    return _Printf(values, count).format(form)


class _Printf:
    """One call of ``printf``, which uses up its values.

    Args:
        values: The values.
        count: Counts characters.
    """

    def __init__(self, values: Sequence[object], count: Callable[[int], None]) -> None:
        self._values = values
        self._count = count
        self._used = 0
        self._is_reordered = False

    def format(self, form: str) -> str:
        """The text for a format."""
        parts: list[str] = []
        end = 0
        for match in _VERB.finditer(form):
            parts += [form[end : match.start()], self._part(match)]
            end = match.end()
        return "".join((*parts, form[end:], self._extra()))

    def _part(self, match: re.Match[str]) -> str:
        flags, problems = match["flags"], ""
        width = self._number(match["width"]) if match["width"] else 0
        if width is None:
            problems, width = "%!(BADWIDTH)", 0
        # As in C, a negative width from the values aligns to the left.
        if width < 0:
            flags, width = f"{flags}-", -width
        precision = self._number(match["precision"] or "0") if match["point"] else -1
        # As in Go, a negative precision is ignored.
        if precision is None or (precision < 0 and match["point"]):
            problems, precision = f"{problems}%!(BADPREC)", -1
        self._count(width + max(precision, 0))
        if match["index"] is not None:
            self._choose(match["index"])
        return problems + self._verb(match["verb"], flags, width, precision, has_index=match["index"] is not None)

    def _number(self, text: str) -> int | None:
        """A width or precision, maybe from the values; None if it is not one."""
        # Longer numbers are not even parsed.
        if text != "*":
            return int(text) if len(text) <= len(str(_MAX_NUMBER)) and int(text) <= _MAX_NUMBER else None
        value = self._values[self._used] if self._used < len(self._values) else None
        self._used += 1
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return int(value) if abs(value) <= _MAX_NUMBER else None

    def _choose(self, index: str) -> None:
        """Go on with the value of a number, as in ``%[2]d``."""
        # As in Go: values that are chosen by number may stay unused.
        self._is_reordered = True
        self._used = int(index or 0) - 1 if len(index) <= len(str(_MAX_NUMBER)) else -1

    def _verb(self, verb: str | None, flags: str, width: int, precision: int, *, has_index: bool) -> str:
        if verb is None:
            return "%!(NOVERB)"
        if verb == "%":
            return "%"
        if not 0 <= self._used < len(self._values):
            self._used = len(self._values) + 1
            return f"%!{verb}({'BADINDEX' if has_index else 'MISSING'})"
        text = _Verb(flags, width, precision, verb).format(self._values[self._used])
        self._count(len(text))
        self._used += 1
        return text

    def _extra(self) -> str:
        """The text for values without a verb."""
        extra = self._values[self._used :]
        if not extra or self._is_reordered:
            return ""
        shown = ["<nil>" if value is None else f"{type_name(value)}={format_value(value)}" for value in extra]
        return f"%!(EXTRA {', '.join(shown)})"


class _Verb:
    """A verb of ``printf`` with its flags.

    Args:
        flags: Its flags.
        width: The minimum width; 0 for none.
        precision: The precision; -1 for none.
        verb: The letter.
    """

    def __init__(self, flags: str, width: int, precision: int, verb: str) -> None:
        # As in Go: "%+v" is about structs, and prints no plus signs.
        self._flags = flags.replace("+", "") if verb == "v" else flags
        self._width = width
        self._precision = precision
        self._verb = verb

    def format(self, value: object) -> str:
        """The text for a value."""
        # The type is asked for, whatever the value is.
        if self._verb == "T":
            return self._pad(type_name(value))
        if value is None:
            return self._pad("<nil>") if self._verb == "v" else f"%!{self._verb}(<nil>)"
        # Verbs apply to the elements of lists and maps.
        return format_each(value, self._scalar)

    def _scalar(self, value: object) -> str:
        # Within lists and maps, null is what it is for every verb.
        if value is None:
            return "<nil>"
        text = self._text(value, self._verb)
        return f"%!{self._verb}({type_name(value)}={self._text(value, 'v')})" if text is None else text

    def _text(self, value: object, verb: str) -> str | None:
        """The text for a scalar; None if the verb is not for its type."""
        match value:
            case bool():
                return self._pad("true" if value else "false") if verb in "tv" else None
            case str():
                return self._string(value, verb)
            case int():
                return self._integer(value, "d" if verb == "v" else verb)
            case float():
                return self._float(value, "g" if verb == "v" else verb)
            case _:
                return None

    def _string(self, value: str, verb: str) -> str | None:
        shown = value if self._precision < 0 else value[: self._precision]
        match verb:
            case "v" if self._verb == "v" and "#" in self._flags:
                return self._pad(go_quote(value))
            case "s" | "v":
                return self._pad(shown)
            case "q":
                is_raw = "#" in self._flags and "`" not in shown and shown.isprintable()
                return self._pad(f"`{shown}`" if is_raw else go_quote(shown, ascii_only="+" in self._flags))
            case "x" | "X":
                digits = value.encode("utf-8", "replace")
                digits = digits if self._precision < 0 else digits[: self._precision]
                separator = " " if " " in self._flags else ""
                text = digits.hex(" ") if separator else digits.hex()
                if "#" in self._flags and digits:
                    text = separator.join(f"0x{piece}" for piece in text.split(" "))
                return self._pad(text.upper() if verb == "X" else text)
            case _:
                return None

    def _integer(self, value: int, verb: str) -> str | None:
        if verb in {"c", "q", "U"}:
            return self._character(value, verb)
        if verb not in _INTEGERS:
            return None
        digits = format(abs(value), _INTEGERS[verb])
        if self._precision >= 0:
            # A precision of 0 prints nothing for 0.
            digits = digits.zfill(self._precision) if value or self._precision else ""
        sign = "-" if value < 0 else "+" if "+" in self._flags else " " if " " in self._flags else ""
        prefix = _PREFIXES.get(verb, "") if "#" in self._flags else ""
        # The zero of an octal number is not doubled.
        prefix = "" if prefix == "0" and digits.startswith("0") else prefix
        prefix = f"0o{prefix}" if verb == "O" else prefix
        return self._pad_number(f"{sign}{prefix}", digits, zeros=self._precision < 0)

    def _character(self, value: int, verb: str) -> str:
        character = chr(value) if 0 <= value <= _MAX_CODE_POINT and not "\ud800" <= chr(value) <= "\udfff" else "\ufffd"
        if verb == "U":
            return self._pad(f"U+{value:04X}")
        return self._pad(character if verb == "c" else f"'{escape_character(character, chr(39))}'")

    def _float(self, value: float, verb: str) -> str | None:
        if verb not in "eEfFgG":
            return None
        sign = "-" if str(value).startswith("-") else "+" if "+" in self._flags else " " if " " in self._flags else ""
        return self._pad_number(sign, self._float_digits(abs(value), verb), zeros=True)

    def _float_digits(self, value: float, verb: str) -> str:
        if verb in "gG":
            text = go_float(value) if self._precision < 0 else _round_general(value, self._precision or 1)
            return text.upper() if verb == "G" else text
        precision = 6 if self._precision < 0 else self._precision
        # The C library is asked for as many digits as a float may have.
        filled = max(precision - _FLOAT_DIGITS, 0)
        text = format(value, f".{precision - filled}{verb}")
        if verb in "fF":
            return text + "0" * filled
        mantissa, letter, exponent = text.partition(verb)
        return f"{mantissa}{'0' * filled}{letter}{exponent}"

    def _pad(self, text: str) -> str:
        if "-" in self._flags:
            return text.ljust(self._width)
        return text.rjust(self._width, "0" if "0" in self._flags else " ")

    def _pad_number(self, sign: str, digits: str, *, zeros: bool) -> str:
        # Zeros stand between sign and digits.
        if zeros and "0" in self._flags and "-" not in self._flags:
            return f"{sign}{digits.rjust(self._width - len(sign), '0')}"
        text = f"{sign}{digits}"
        return text.ljust(self._width) if "-" in self._flags else text.rjust(self._width)


def _round_general(value: float, precision: int) -> str:
    """A float with at most some digits, as ``%.3g`` prints it."""
    rounded = Context(prec=min(precision, _FLOAT_DIGITS), rounding=ROUND_HALF_EVEN).create_decimal(Decimal(value))
    exponent = rounded.adjusted() if rounded else 0
    digits = format(rounded.normalize(), "f")
    if _MIN_PLAIN_EXPONENT <= exponent < precision:
        return digits
    mantissa = format(rounded.normalize().scaleb(-exponent), "f")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
