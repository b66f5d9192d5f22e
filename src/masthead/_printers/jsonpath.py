"""JSONPath in the dialect of Kubernetes, for columns of custom resources and for conditions.

::

    compile_path(".status.conditions[?(@.type=='Ready')].status").find(obj)  # ["True"]

    path     =  { step }
    step     =  "." name | ".*" | "..name"      a field; all values; the field in all that is below
             |  "['" name "']"                  a field whose name has dots or dashes
             |  "[" index "]" | "[" from ":" to ":" step "]" | "[*]" | "[" a "," b "]"
             |  "[?(" path [ operator value ] ")]"
             |  "@" | "$"                       the value itself
    operator =  "==" | "!=" | "<" | "<=" | ">" | ">="

It accepts and finds what client-go does, ``range`` aside, and it is bounded: long paths are refused, and a search that
visits too many values fails.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["JsonPath", "JsonPathError", "VisitLimit", "compile_path"]

_MAX_LENGTH: Final = 4_096
"""Characters of a path."""
_MAX_VALUES: Final = 10_000
"""The default limit of values that a search may visit."""
_DESCENT: Final = 100
"""Levels of nesting that ``..`` looks into."""

_TERMINATORS: Final = frozenset(" \t\r\n.,[]$@{}")
_QUOTED_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)

_Values: TypeAlias = "list[object]"


class JsonPathError(ValueError):
    """A path cannot be parsed, or does not fit the data that it is applied to."""


class VisitLimit:
    """How many values may be visited, by one search or by several that share the limit."""

    __slots__ = ("_left",)

    def __init__(self, most: int = _MAX_VALUES) -> None:
        self._left = most

    def visit(self, values: _Values) -> _Values:
        """Count values.

        Raises:
            JsonPathError: If there are too many.
        """
        # Counted for each step: nested wildcards multiply.
        self._left -= len(values)
        if self._left < 0:
            raise JsonPathError("the path selects too many values")
        return values


@dataclass(frozen=True, slots=True)
class _Search:
    """One search: its options, and its remaining visits."""

    limit: VisitLimit
    allows_missing: bool

    def visit(self, values: _Values) -> _Values:
        return self.limit.visit(values)


_Step: TypeAlias = "Callable[[_Values, _Search], _Values]"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed path.

    Attributes:
        text: The text of the path.
    """

    text: str
    _steps: tuple[_Step, ...]

    def find(self, obj: object, *, allows_missing: bool = True, limit: VisitLimit | None = None) -> list[object]:
        """Return the values that the path selects in plain data.

        Args:
            obj: The data.
            allows_missing: Whether a field that is missing selects nothing instead of being an error.
            limit: How many values may be visited; None for a limit of this search alone.

        Raises:
            JsonPathError: If the path does not fit the data, or selects too much.
        """
        return _walk(self._steps, [obj], _Search(limit or VisitLimit(), allows_missing))


def compile_path(text: str) -> JsonPath:
    """Parse a path, such as ``.spec.replicas``.

    Raises:
        JsonPathError: If it is not one, or too long.
    """
    if len(text) > _MAX_LENGTH:
        raise JsonPathError(f"the path is longer than {_MAX_LENGTH} characters")
    return JsonPath(text, tuple(_parse(text)))


def _parse(text: str) -> list[_Step]:
    """Parse the text between the braces of a template, ``{...}``.

    A closing brace in it ends the path early. The rest is text with further paths, which must be valid.
    """
    # The closing brace of the template ends the last path.
    parser = _Parser(f"{text}}}")
    steps = parser.steps()
    while parser.begins_another():
        parser.steps()
    return steps


def _walk(steps: Sequence[_Step], values: _Values, search: _Search) -> _Values:
    for step in steps:
        values = search.visit(step(values, search))
    return values


class _Parser:
    """Parses a path from left to right.

    Filters and unions contain paths, which cannot contain filters and unions: the first bracket ends them.

    Args:
        text: The path.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def steps(self) -> list[_Step]:
        """Parse the steps of a path, and the brace that ends it.

        Raises:
            JsonPathError: If the path is invalid.
        """
        steps: list[_Step] = []
        after_descent = False
        while not self._text.startswith("}", self._position):
            if self._position >= len(self._text):
                raise JsonPathError("unclosed action")
            is_descent = self._text.startswith("..", self._position)
            # Kubernetes refuses ``....``.
            if is_descent and after_descent:
                raise JsonPathError("invalid multiple recursive descent")
            added = self._next()
            steps += added
            # Another descent may follow a descent that its field follows directly.
            after_descent = is_descent and len(added) == 1
        self._position += 1
        return steps

    def begins_another(self) -> bool:
        """Skip text up to the next path of a template; returns whether there is one."""
        start = self._text.find("{", self._position)
        self._position = start + 1
        return start >= 0

    def _next(self) -> list[_Step]:
        text, start = self._text, self._position
        if text.startswith("[?(", start):
            return [self._filter()]
        if text.startswith("..", start):
            self._position += 2
            follows = text[start + 2 : start + 3]
            # A name directly behind the dots belongs to the descent.
            return [_descend, self._field()] if follows == "_" or follows.isalnum() else [_descend]
        self._position += 1
        character = text[start]
        match character:
            case " " | "@" | "$":
                return []
            case "[":
                return self._brackets()
            case '"' | "'":
                return [_constant(self._read_quoted(character))]
            case ".":
                return [self._field()]
            case _ if character in "+-" or character.isdigit():
                return [_constant(self._number(start))]
            case _ if character == "_" or character.isalpha():
                return [_constant_or_keyword(self._word(start))]
            case "\r" | "\n":
                raise JsonPathError("unclosed action")
            case _:
                raise JsonPathError(f"unrecognized character in action: {character!r}")

    def _field(self) -> _Step:
        start = self._position
        while self._position < len(self._text) and self._text[self._position] not in _TERMINATORS:
            # A character behind a backslash belongs to the name, whatever it is.
            self._position += 2 if self._text[self._position] == "\\" else 1
        name = self._text[start : self._position]
        return _all_values if name == "*" else _field(name.replace("\\", ""))

    def _word(self, start: int) -> str:
        while self._position < len(self._text) and self._text[self._position] not in _TERMINATORS:
            self._position += 1
        return self._text[start : self._position]

    def _number(self, start: int) -> float:
        while self._position < len(self._text) and self._text[self._position] in "0123456789.":
            self._position += 1
        word = self._text[start : self._position]
        try:
            return float(word) if "." in word else int(word)
        except ValueError:
            raise JsonPathError(f"cannot parse number {word}") from None

    def _read_quoted(self, quote: str) -> str:
        start = self._position
        while True:
            end = self._text.find(quote, self._position)
            # Strings do not span lines.
            if end < 0 or "\n" in self._text[start:end]:
                raise JsonPathError("unterminated quoted string")
            self._position = end + 1
            # An escaped quote does not end the string.
            if self._text[end - 1] != "\\":
                return _ESCAPE.sub(r"\1", self._text[start:end])

    def _brackets(self) -> list[_Step]:
        end = self._text.find("]", self._position)
        if end < 0 or "\n" in self._text[self._position : end]:
            raise JsonPathError("unterminated array")
        inside = self._text[self._position : end]
        self._position = end + 1
        members = inside.split(",")
        if len(members) > 1:
            # A member may be an index, a slice or a key.
            return [_union([_parse(f"[{member.strip(' ')}]") for member in members])]
        if quoted := _QUOTED_KEY.fullmatch(inside):
            return _parse(f".{quoted[1]}")
        return [_slice(":" if inside == "*" else inside)]

    def _filter(self) -> _Step:
        inside = self._text[self._position + 3 : self._end_of_filter()]
        self._position += len(inside) + len("[?()]")
        # Without an operator the filter tests for existence.
        comparison = _COMPARISON.fullmatch(inside)
        if comparison is None:
            return _filter_existing(_parse(inside))
        left, operator, right = comparison.groups()
        return _filter(_parse(left), operator, _parse(right))

    def _end_of_filter(self) -> int:
        """Find the parenthesis that ends a filter, which may contain one string."""
        quote, is_closed, previous = "", False, ""
        for position in range(self._position + 3, len(self._text)):
            character = self._text[position]
            if character == "\n":
                break
            if character in "\"'":
                if not quote:
                    quote = character
                elif character == quote and previous != "\\":
                    is_closed = True
            # A parenthesis inside of an open string does not end the filter.
            elif character == ")" and bool(quote) == is_closed:
                if self._text[position + 1 : position + 2] != "]":
                    raise JsonPathError("unclosed array expect ]")
                return position
            previous = character
        raise JsonPathError("unterminated filter")


def _constant(value: object) -> _Step:
    def step(values: _Values, _: _Search) -> _Values:
        # Text appears once, a number once for each value.
        return [value] if isinstance(value, str) else [value] * len(values)

    return step


def _constant_or_keyword(word: str) -> _Step:
    if word in {"true", "false"}:
        return _constant(word == "true")

    def step(_: _Values, __: _Search) -> _Values:
        # When it is evaluated, as in Kubernetes: an unused path may contain it.
        raise JsonPathError(f"unrecognized identifier {word}")

    return step


def _field(name: str) -> _Step:
    def step(values: _Values, search: _Search) -> _Values:
        if not values:
            return []
        found = [
            cast("dict[str, object]", value)[name] for value in values if isinstance(value, dict) and name in value
        ]
        # An error only if no value has the field.
        if not found and not search.allows_missing:
            raise JsonPathError(f"{name} is not found")
        return found

    return step


def _members(value: object) -> _Values:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    if isinstance(value, list):
        return cast("_Values", value)
    # Go ranges over the bytes of a string.
    return list(value.encode()) if isinstance(value, str) else []


def _all_values(values: _Values, search: _Search) -> _Values:
    found: _Values = []
    for value in values:
        found += search.visit(_members(value))
    return found


def _descend(values: _Values, search: _Search) -> _Values:
    found: _Values = []
    # Iterative and in document order: the stack is popped from its end.
    pending = [(value, 0) for value in reversed(values)]
    while pending:
        value, depth = pending.pop()
        members = search.visit(_members(value))
        if not members:
            continue
        found.append(value)
        if depth >= _DESCENT:
            raise JsonPathError(f"the data nests more than {_DESCENT} levels deep")
        pending.extend((member, depth + 1) for member in reversed(members))
    return found


def _union(alternatives: list[list[_Step]]) -> _Step:
    def step(values: _Values, search: _Search) -> _Values:
        found: _Values = []
        for steps in alternatives:
            found += _walk(steps, values, search)
        return found

    return step


def _slice(text: str) -> _Step:
    match = _SLICE.fullmatch(text)
    if match is None:
        raise JsonPathError(f"invalid array index {text}")
    first, last, stride = (_index(group) for group in match.groups())
    # One number is an index: the slice of one element.
    is_index = match[2] is None
    if is_index:
        last = (first or 0) + 1

    def step(values: _Values, _: _Search) -> _Values:
        found: _Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise JsonPathError(f"{type(value).__name__} is not array or slice")
            elements = cast("_Values", value)
            start, end = _bounds(first, last, len(elements), is_index=is_index)
            # An empty slice is no error, wherever it is.
            if start == end:
                return found
            found += elements[start:end:stride]
        return found

    if stride is not None and stride <= 0:
        return _refuse("step must be > 0")
    return step


def _index(text: str | None) -> int | None:
    digits = (text or "").removeprefix(":")
    if not digits:
        return None
    try:
        return int(digits)
    except ValueError:
        raise JsonPathError(f"array index {digits} is not a number") from None


def _bounds(first: int | None, last: int | None, length: int, *, is_index: bool) -> tuple[int, int]:
    start = first or 0
    end = length if last is None else last
    start += length if start < 0 else 0
    # The index -1 has the end 0, which means the length.
    end += length if end < 0 or (end == 0 and is_index) else 0
    if start == end:
        return start, end
    if not 0 <= start < length:
        raise JsonPathError(f"array index out of bounds: index {start}, length {length}")
    if not 0 <= end <= length:
        raise JsonPathError(f"array index out of bounds: index {end - 1}, length {length}")
    if start > end:
        raise JsonPathError(f"starting index {start} is greater than ending index {end}")
    return start, end


def _refuse(problem: str) -> _Step:
    def step(_: _Values, __: _Search) -> _Values:
        raise JsonPathError(problem)

    return step


def _elements(values: _Values) -> Iterable[object]:
    for value in values:
        if not isinstance(value, list):
            raise JsonPathError("what is not array or slice cannot be filtered")
        yield from cast("_Values", value)


def _filter_existing(left: list[_Step]) -> _Step:
    def exists(element: object, search: _Search) -> bool:
        try:
            return bool(_walk(left, [element], search))
        except JsonPathError:
            return False

    def step(values: _Values, search: _Search) -> _Values:
        return [candidate for candidate in search.visit(list(_elements(values))) if exists(candidate, search)]

    return step


def _filter(left: list[_Step], operator: str, right: list[_Step]) -> _Step:
    compare = _COMPARISONS.get(operator)
    if compare is None:
        return _refuse(f"unrecognized filter operator {operator}")

    def passes(element: object, search: _Search) -> bool:
        lefts = _walk(left, [element], search)
        if not lefts:
            return False
        rights = _walk(right, [element], search)
        if len(lefts) > 1 or len(rights) > 1:
            raise JsonPathError("can only compare one element at a time")
        return bool(rights) and compare(lefts[0], rights[0])

    def step(values: _Values, search: _Search) -> _Values:
        return [candidate for candidate in search.visit(list(_elements(values))) if passes(candidate, search)]

    return step


def _equal(left: object, right: object) -> bool:
    # Kubernetes does not convert between numbers and texts.
    if type(left) is not type(right):
        raise JsonPathError("incompatible types for comparison")
    if not isinstance(left, bool | int | float | str):
        raise JsonPathError("invalid type for comparison")
    return left == right


def _less(left: object, right: object) -> bool:
    if type(left) is not type(right):
        raise JsonPathError("incompatible types for comparison")
    if isinstance(left, bool) or not isinstance(left, int | float | str):
        raise JsonPathError("invalid type for comparison")
    return left < right  # type: ignore[operator]


_COMPARISONS: Final[Mapping[str, Callable[[object, object], bool]]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _less,
    "<=": lambda left, right: _less(left, right) or _equal(left, right),
    ">": lambda left, right: not (_less(left, right) or _equal(left, right)),
    ">=": lambda left, right: not _less(left, right),
}
