"""``expr``: integers and comparisons, a word for each operand and operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

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
)
"""Operators, by how strongly they bind."""
_SIGN: Final = 1 << 63
_MAX_DEPTH: Final = 50
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


def _is_null(value: str) -> bool:
    return not value or (_INTEGER.fullmatch(value) is not None and not int(value))


def _apply(operator: str, left: str, right: str) -> str:
    # These two return an operand, and no truth value.
    if operator == "|":
        return right if _is_null(left) else left
    if operator == "&":
        return "0" if _is_null(left) or _is_null(right) else left
    are_integers = _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right)
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
