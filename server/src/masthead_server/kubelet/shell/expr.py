"""``expr``: integers, comparisons, patterns and parts of texts, a word for each operand and operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._regexp.pattern import MatchLimitError
from masthead_server.kubelet.shell.patterns import PatternError, compile_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["expr"]

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_LEVELS: Final = (
    frozenset({"|"}),
    frozenset({"&"}),
    frozenset({"=", "==", "!=", "<", "<=", ">", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
    frozenset({":"}),
)
"""Operators, by how strongly they bind."""
_SIGN: Final = 1 << 63
_MAX_DEPTH: Final = 50
_MAX_GROUP: Final = 200
"""Characters of a text in which a group is looked for: the time grows with the cube."""
_FUNCTIONS: Final = {"length": 1, "index": 2, "match": 2, "substr": 3}
"""The number of their arguments."""
_INVALID: Final = 2


class _ExprError(Exception):
    """An expression is invalid."""


async def expr(arguments: list[str], io: CommandIO) -> int:
    """Print the value of an expression; 1 if it is zero or empty."""
    try:
        reader = _Reader(arguments)
        value = reader.read()
        # Two operands without an operator leave the second one.
        if not reader.has_ended():
            raise _ExprError("syntax error")
    except _ExprError as error:
        await io.complain(f"expr: {error}")
        return _INVALID
    await io.print(value)
    return int(_is_null(value))


class _Reader:
    """Evaluates words from the left to the right."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._position = 0
        self._depth = 0

    def has_ended(self) -> bool:
        return self._position == len(self._words)

    def read(self, level: int = 0) -> str:
        # Below all operators is an operand.
        if level == len(_LEVELS):
            return self._operand()
        value = self.read(level + 1)
        while not self.has_ended() and (operator := self._words[self._position]) in _LEVELS[level]:
            self._position += 1
            value = _apply(operator, value, self.read(level + 1))
        return value

    def _operand(self) -> str:
        if self.has_ended():
            raise _ExprError("syntax error")
        word = self._words[self._position]
        self._position += 1
        if word in _FUNCTIONS and not self.has_ended():
            return self._call(word)
        if word != "(":
            return word
        self._depth += 1
        # It recurses, and the words come from a client.
        if self._depth > _MAX_DEPTH:
            raise _ExprError("nested too deeply")
        value = self.read()
        if self.has_ended() or self._words[self._position] != ")":
            raise _ExprError("syntax error")
        self._position += 1
        self._depth -= 1
        return value

    def _call(self, name: str) -> str:
        """The value of ``length``, ``substr``, ``index`` or ``match``."""
        arguments = [self._argument() for _ in range(_FUNCTIONS[name])]
        if name == "length":
            return str(len(arguments[0]))
        if name == "match":
            return _match(arguments[0], arguments[1])
        if name == "index":
            found = [index for index, character in enumerate(arguments[0], 1) if character in set(arguments[1])]
            return str(found[0] if found else 0)
        text, first, count = arguments
        if not _INTEGER.fullmatch(first) or not _INTEGER.fullmatch(count) or int(first) < 1 or int(count) < 1:
            return ""
        return text[int(first) - 1 : int(first) - 1 + int(count)]

    def _argument(self) -> str:
        if self.has_ended():
            raise _ExprError("syntax error")
        self._position += 1
        return self._words[self._position - 1]


def _match(text: str, pattern: str) -> str:
    """The length of what a pattern matches at the start of a text, or the text of its group."""
    before, opening, rest = pattern.removeprefix("^").partition("\\(")
    group, closing, after = rest.partition("\\)")
    if "\\(" in group + after or bool(opening) != bool(closing):
        raise _ExprError("patterns with several groups are not a part of this shell")
    try:
        length = _match_length(text, before + group + after)
        if not opening:
            return str(max(length, 0))
        # The longest start, then the longest group, of what matches as a whole.
        return "" if length < 0 else _group(text[:length], before, group, after)
    except (PatternError, MatchLimitError) as error:
        raise _ExprError(str(error)) from error


def _match_length(text: str, pattern: str) -> int:
    """The length of a match at the start of a text; -1 for none."""
    found = compile_expression(f"^{pattern}", is_extended=False).find(text)
    return -1 if found is None else found[1]


def _group(text: str, before: str, group: str, after: str) -> str:
    if len(text) > _MAX_GROUP:
        raise _ExprError("text too long")
    first, middle, last = (compile_expression(f"^{part}$", is_extended=False) for part in (before, group, after))
    for start in range(len(text), -1, -1):
        if not first.search(text[:start]):
            continue
        for end in range(len(text), start - 1, -1):
            if middle.search(text[start:end]) and last.search(text[end:]):
                return text[start:end]
    return ""


def _is_null(value: str) -> bool:
    return not value or (_INTEGER.fullmatch(value) is not None and not int(value))


def _apply(operator: str, left: str, right: str) -> str:
    # These two return an operand, and no truth value.
    if operator == "|":
        return right if _is_null(left) else left
    if operator == "&":
        return "0" if _is_null(left) or _is_null(right) else left
    are_integers = _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right)
    if operator == ":":
        return _match(left, right)
    if operator in _LEVELS[2]:
        # Numbers are compared as numbers, anything else as text.
        order = _compare(int(left), int(right)) if are_integers else _compare(left, right)
        return str(int(_holds(operator, order)))
    # Arithmetic has no text operands, unlike comparison.
    if not are_integers:
        raise _ExprError("non-numeric argument")
    return str(_calculate(operator, int(left), int(right)))


def _compare(left: int | str, right: int | str) -> int:
    if left == right:
        return 0
    # Digits as text would put 10 before 9.
    is_less = left < right if isinstance(left, int) and isinstance(right, int) else str(left) < str(right)
    return -1 if is_less else 1


def _holds(operator: str, order: int) -> bool:
    if operator in {"=", "=="}:
        return order == 0
    if operator == "!=":
        return order != 0
    # "<=" and ">=" hold for equal operands, too.
    return order == (-1 if operator[0] == "<" else 1) or (order == 0 and operator.endswith("="))


def _calculate(operator: str, left: int, right: int) -> int:
    if operator == "+":
        value = left + right
    elif operator == "-":
        value = left - right
    elif operator == "*":
        value = left * right
    elif not right:
        raise _ExprError("division by zero")
    else:
        # C rounds to zero, Python down.
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        value = quotient if operator == "/" else left - quotient * right
    # 64 bits, as everywhere in the shell.
    return (value + _SIGN) % (2 * _SIGN) - _SIGN
