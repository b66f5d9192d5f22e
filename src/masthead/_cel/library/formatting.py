"""``'%s is %d'.format([name, number])``."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from masthead._cel.errors import CostError, EvaluationError
from masthead._cel.library.operators import MAX_TEXT
from masthead._cel.values import (
    Duration,
    ListLike,
    MapLike,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    find,
    is_list,
    is_map,
    type_name,
)
from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BINARY",
    "CLAUSES",
    "DECIMAL",
    "FIXED",
    "HEX",
    "OCTAL",
    "SCIENTIFIC",
    "TEXT",
    "clauses",
    "format_string",
]

_CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.([0-9]*))?(.)?)", re.DOTALL)
_DEFAULT_PRECISION: Final = 6
_INCOMPLETE: Final = "unexpected end of string"
_MAX_PRECISION: Final = 1000

BINARY: Final = "only integers and bools can be formatted as binary, was given "
DECIMAL: Final = "decimal clause can only be used on integers, was given "
FIXED: Final = "fixed-point clause can only be used on doubles, was given "
HEX: Final = "only integers, byte buffers, and strings can be formatted as hex, was given "
OCTAL: Final = "octal clause can only be used on integers, was given "
SCIENTIFIC: Final = "scientific clause can only be used on doubles, was given "
TEXT: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps, was given "
)


def clauses(template: str, count: int) -> Iterator[tuple[str, str, int]]:
    """Yield the parts of a template: text before a clause, the clause's letter, and its precision.

    The last part has no letter. A precision of -1 means none.

    Args:
        template: The template.
        count: How many values there are.

    Raises:
        EvaluationError: If a clause is invalid, or there is no value for it.
    """
    end = used = 0
    for match in _CLAUSE.finditer(template):
        text = template[end : match.start()]
        end = match.end()
        if match[1]:
            yield text + "%", "", -1
            continue
        if used >= count:
            raise EvaluationError(f"index {used} out of range" if match.group() != "%" or count else _INCOMPLETE)
        used += 1
        yield text, _letter(match), _precision(match)
    yield template[end:], "", -1


def _letter(match: re.Match[str]) -> str:
    letter = match[3]
    if letter is None:
        if match[2] is None:
            raise EvaluationError(_INCOMPLETE)
        raise EvaluationError(
            "could not parse formatting clause: error while parsing precision: "
            "could not find end of precision specifier"
        )
    if letter not in CLAUSES:
        raise EvaluationError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
    return letter


def _precision(match: re.Match[str]) -> int:
    if match[2] is None:
        return -1
    if not match[2]:
        raise EvaluationError(
            "could not parse formatting clause: error while parsing precision: error while converting precision to "
            'integer: strconv.Atoi: parsing "": invalid syntax'
        )
    return int(match[2][:9])


def format_string(template: str, values: Value) -> str:
    """Replace the clauses of a template by values.

    Raises:
        EvaluationError: If a clause is invalid, or a value is missing or has the wrong type.
        CostError: If the result is too long.
    """
    parts: list[str] = []
    used = 0
    for text, letter, precision in clauses(template, len(values)):
        parts.append(text)
        if not letter:
            continue
        if precision > _MAX_PRECISION:
            # differs from cel-go, which prints a million digits.
            raise CostError
        try:
            parts.append(CLAUSES[letter](values[used], precision))
        except EvaluationError as error:
            raise EvaluationError(f"error during formatting: {error}") from None
        used += 1
    if sum(map(len, parts)) > MAX_TEXT:
        raise CostError
    return "".join(parts)


def _format_text(value: Value, _precision: int = -1) -> str:
    from masthead._cel.library.conversions import to_string

    if is_list(value):
        return _format_list(value)
    if is_map(value):
        return _format_map(value)
    if value is None:
        return "null"
    if type(value) in _TEXTUAL:
        return to_string(value)
    raise EvaluationError(TEXT + type_name(value))


_TEXTUAL: Final = frozenset({int, Uint, float, bool, str, bytes, Timestamp, Duration, TypeValue})


def _format_nested(value: Value) -> str:
    """Format an item of a list or map as a literal of an expression."""
    if type(value) is float:
        text = _format_fixed(value, _DEFAULT_PRECISION)
        return text if math.isfinite(value) else f'"{_go_infinite(value)}"'
    if type(value) is Timestamp:
        return f'timestamp("{value}")'
    if type(value) is Duration:
        return f'duration("{value}")'
    if type(value) is str:
        return quoted(value)
    if type(value) is bytes:
        return f"b{quoted(_format_text(value))}"
    if type(value) in _TEXTUAL or value is None or isinstance(value, list | dict | ListLike | MapLike):
        return _format_text(value)
    raise EvaluationError(f"no formatting function for {type_name(value)}")


def _format_list(value: Value) -> str:
    return f"[{', '.join(_format_nested(item) for item in value)}]"


def _format_map(value: Value) -> str:
    entries: list[tuple[str, str]] = []
    for key in value:
        if type(key) not in {str, bool, int, Uint}:
            raise EvaluationError(f"no formatting function for map key of type {type_name(key)}")
        entries.append((_format_nested(key), _format_nested(find(value, key))))
    return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(entries, key=lambda entry: entry[0])) + "}"


def _format_decimal(value: Value, _precision: int = -1) -> str:
    if type(value) not in {int, Uint}:
        raise EvaluationError(DECIMAL + type_name(value))
    return str(int(value))


def _number(value: Value, message: str) -> float:
    if type(value) is float:
        return value
    if value in {"NaN", "Infinity", "-Infinity"} if type(value) is str else False:
        return float(value)
    raise EvaluationError(message + type_name(value))


def _go_infinite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def _localized_infinite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "∞" if value > 0 else "-∞"


def _format_fixed(value: Value, precision: int = -1) -> str:
    number = _number(value, FIXED)
    if not math.isfinite(number):
        return _localized_infinite(number)
    return f"{number:.{_DEFAULT_PRECISION if precision < 0 else precision}f}"


def _format_grouped(value: Value, precision: int = -1) -> str:
    number = _number(value, FIXED)
    if not math.isfinite(number):
        return _localized_infinite(number)
    return f"{number:,.{_DEFAULT_PRECISION if precision < 0 else precision}f}"


def _format_scientific(value: Value, _precision: int = -1) -> str:
    number = _number(value, SCIENTIFIC)
    if not math.isfinite(number):
        return _localized_infinite(number)
    mantissa, _, exponent = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    # As the server's locale writes it.
    return f"{mantissa}\N{MULTIPLICATION SIGN}10{_superscript(int(exponent))}"


def _superscript(exponent: int) -> str:
    return f"{'-' if exponent < 0 else ''}{abs(exponent):02}".translate(_SUPERSCRIPTS)


_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def _format_binary(value: Value, _precision: int = -1) -> str:
    if type(value) is bool:
        return "1" if value else "0"
    if type(value) not in {int, Uint}:
        raise EvaluationError(BINARY + type_name(value))
    return f"{int(value):b}"


def _format_hex(value: Value, _precision: int = -1) -> str:
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass").hex()
    if type(value) is bytes:
        return value.hex()
    if type(value) not in {int, Uint}:
        raise EvaluationError(HEX + type_name(value))
    return f"{int(value):x}"


def _format_upper_hex(value: Value, _precision: int = -1) -> str:
    return _format_hex(value).upper()


def _format_octal(value: Value, _precision: int = -1) -> str:
    if type(value) not in {int, Uint}:
        raise EvaluationError(OCTAL + type_name(value))
    return f"{int(value):o}"


CLAUSES: Final[dict[str, Callable[[Value, int], str]]] = {
    "s": _format_text,
    "d": _format_decimal,
    "f": _format_grouped,
    "e": _format_scientific,
    "b": _format_binary,
    "x": _format_hex,
    "X": _format_upper_hex,
    "o": _format_octal,
}
