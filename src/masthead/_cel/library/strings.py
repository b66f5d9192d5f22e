"""Strings: the functions of CEL, of its extension (version 2) and of Kubernetes' regular expressions."""

from __future__ import annotations

from typing import Final

from masthead._cel.declarations import Function, function, method, overload
from masthead._cel.errors import NO_OVERLOAD, CostError, EvaluationError
from masthead._cel.library.formatting import format_string
from masthead._cel.library.operators import MAX_TEXT
from masthead._cel.types import BOOL, DYN, INT, STRING, list_of
from masthead._cel.values import Value, is_list
from masthead._regexp.pattern import MatchLimitError, compile_pattern
from masthead._regexp.syntax import PatternError

__all__ = ["FUNCTIONS", "lower_ascii", "trim_space", "upper_ascii"]

_UPPER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LOWER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Go's space characters."""

_QUOTED: Final = {
    ord("\a"): "\\a",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("\v"): "\\v",
    ord("\\"): "\\\\",
    ord('"'): '\\"',
}


def lower_ascii(text: str) -> str:
    """Make the letters A to Z small."""
    return text.translate(_UPPER)


def upper_ascii(text: str) -> str:
    """Make the letters a to z large."""
    return text.translate(_LOWER)


def trim_space(text: str) -> str:
    """Remove space around a text."""
    return text.strip(_SPACE)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_of_from(text: str, part: str, last: int) -> int:
    if not part:
        return last
    if last < 0:
        raise _out_of_range(last)
    if last >= len(text):
        return -1
    return text.rfind(part, 0, last + len(part))


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    found = text.count(old) if count < 0 else min(text.count(old), count)
    if len(text) + found * len(new) > MAX_TEXT:
        raise CostError
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, separator: str, count: int = -1) -> list[Value]:
    if count == 0:
        return []
    if separator:
        return list(text.split(separator, count - 1 if count > 0 else -1))
    # Go splits into characters.
    if count < 0 or count > len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]] if text else []


def _join(items: Value, separator: str = "") -> str:
    if not is_list(items):
        raise EvaluationError(NO_OVERLOAD)
    texts: list[str] = []
    for item in items:
        if type(item) is not str:
            raise EvaluationError(f"join: invalid input: {item}")
        texts.append(item)
    if sum(map(len, texts)) + len(separator) * len(texts) > MAX_TEXT:
        raise CostError
    return separator.join(texts)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _matches(text: str, pattern: str) -> bool:
    try:
        return compile_pattern(pattern).search(text)
    except PatternError as error:
        raise EvaluationError(str(error)) from None
    except MatchLimitError:
        raise CostError from None


def _find(text: str, pattern: str) -> str:
    found = _find_all(text, pattern, 1)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    try:
        return compile_pattern(pattern).find_all(text, count)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None
    except MatchLimitError:
        raise CostError from None


_TEXTS: Final = list_of(STRING)

FUNCTIONS: Final[tuple[Function, ...]] = (
    function("contains", method("contains_string", (STRING, STRING), BOOL, lambda text, part: part in text)),
    function("endsWith", method("ends_with_string", (STRING, STRING), BOOL, str.endswith)),
    function("startsWith", method("starts_with_string", (STRING, STRING), BOOL, str.startswith)),
    function(
        "matches",
        overload("matches", (STRING, STRING), BOOL, _matches),
        method("matches_string", (STRING, STRING), BOOL, _matches),
    ),
    function("charAt", method("string_char_at_int", (STRING, INT), STRING, _char_at)),
    function(
        "indexOf",
        method("string_index_of_string", (STRING, STRING), INT, _index_of),
        method("string_index_of_string_int", (STRING, STRING, INT), INT, _index_of),
    ),
    function(
        "lastIndexOf",
        method("string_last_index_of_string", (STRING, STRING), INT, _last_index_of),
        method("string_last_index_of_string_int", (STRING, STRING, INT), INT, _last_index_of_from),
    ),
    function("lowerAscii", method("string_lower_ascii", (STRING,), STRING, lower_ascii)),
    function("upperAscii", method("string_upper_ascii", (STRING,), STRING, upper_ascii)),
    function(
        "replace",
        method("string_replace_string_string", (STRING, STRING, STRING), STRING, _replace),
        method("string_replace_string_string_int", (STRING, STRING, STRING, INT), STRING, _replace),
    ),
    function(
        "split",
        method("string_split_string", (STRING, STRING), _TEXTS, _split),
        method("string_split_string_int", (STRING, STRING, INT), _TEXTS, _split),
    ),
    function(
        "substring",
        method("string_substring_int", (STRING, INT), STRING, _substring),
        method("string_substring_int_int", (STRING, INT, INT), STRING, _substring_range),
    ),
    function("trim", method("string_trim", (STRING,), STRING, trim_space)),
    function("format", method("string_format", (STRING, list_of(DYN)), STRING, format_string)),
    function("strings.quote", overload("strings_quote", (STRING,), STRING, _quote)),
    function(
        "join",
        method("list_join", (_TEXTS,), STRING, _join),
        method("list_join_string", (_TEXTS, STRING), STRING, _join),
    ),
    function("find", method("string_find_string", (STRING, STRING), STRING, _find)),
    function(
        "findAll",
        method("string_find_all_string", (STRING, STRING), _TEXTS, _find_all),
        method("string_find_all_string_int", (STRING, STRING, INT), _TEXTS, _find_all),
    ),
)
