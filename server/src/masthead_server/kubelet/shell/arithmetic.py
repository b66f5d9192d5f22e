"""Arithmetic of the built-in shell: ``$((…))`` on integers of 64 bits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ArithmeticFailure", "evaluate"]

_TOKEN: Final = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})|([A-Za-z_][A-Za-z0-9_]*)"
    r"|(\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%]=|[-+*/%<>&|^!~()?:=]))"
)
_MAX_LENGTH: Final = 1000
_MAX_DEPTH: Final = 50
_BITS: Final = 64
_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators, in the order of increasing precedence."""


class ArithmeticFailure(Exception):  # noqa: N818 - a shell goes on after it
    """An expression is invalid, or divides by zero."""


def evaluate(text: str, load: Callable[[str], str], store: Callable[[str, str], None]) -> int:
    """Evaluate an expression.

    Args:
        text: The expression.
        load: Returns the value of a variable; empty for none.
        store: Sets a variable.

    Raises:
        ArithmeticFailure: If it is invalid, too long, or divides by zero.
        OSError: If a variable cannot be set.
    """
    if len(text) > _MAX_LENGTH:
        raise ArithmeticFailure("expression too long")
    return _Evaluation(_split(text), load, store).run() if text.strip() else 0


def _split(text: str) -> list[str]:
    tokens, position = list[str](), 0
    text = text.rstrip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ArithmeticFailure("syntax error")
        tokens.append(found[0].strip())
        position = found.end()
    return tokens


def _wrap(value: int) -> int:
    """A number of 64 bits, as in C."""
    half = 1 << (_BITS - 1)
    return (value + half) % (1 << _BITS) - half


class _Evaluation:
    """Evaluates tokens from the left to the right. Both branches of a condition are evaluated."""

    def __init__(self, tokens: list[str], load: Callable[[str], str], store: Callable[[str, str], None]) -> None:
        self._tokens = tokens
        self._load = load
        self._store = store
        self._position = 0
        self._depth = 0

    def run(self) -> int:
        value = self._assignment()
        if self._position < len(self._tokens):
            raise ArithmeticFailure("syntax error")
        return value

    def _peek(self, offset: int = 0) -> str:
        index = self._position + offset
        return self._tokens[index] if index < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._position += 1
        return token

    def _assignment(self) -> int:
        self._depth += 1
        # The evaluation recurses, and an expression comes from a client.
        if self._depth > _MAX_DEPTH:
            raise ArithmeticFailure("nested too deeply")
        operator = self._peek(1)
        if operator in {"=", "+=", "-=", "*=", "/=", "%="} and self._is_name(self._peek()):
            name = self._next()
            self._position += 1
            value = self._assignment()
            if operator != "=":
                value = _apply(operator[0], self._variable(name), value)
            self._store(name, str(value))
        else:
            value = self._condition()
        self._depth -= 1
        return value

    def _condition(self) -> int:
        value = self._binary(0)
        if self._peek() != "?":
            return value
        self._position += 1
        chosen = self._assignment()
        if self._next() != ":":
            raise ArithmeticFailure("syntax error")
        other = self._assignment()
        return chosen if value else other

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        value = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            operator = self._next()
            value = _apply(operator, value, self._binary(level + 1))
        return value

    def _unary(self) -> int:
        token = self._next()
        if token in {"++", "--"} and self._is_name(self._peek()):
            return self._step(self._next(), 1 if token == "++" else -1)
        if token in {"+", "-", "!", "~"}:
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise ArithmeticFailure("nested too deeply")
            value = self._unary()
            self._depth -= 1
            return {"+": value, "-": _wrap(-value), "!": int(not value), "~": ~value}[token]
        if token == "(":
            value = self._assignment()
            if self._next() != ")":
                raise ArithmeticFailure("syntax error")
            return value
        if self._is_name(token):
            if self._peek() in {"++", "--"}:
                change = 1 if self._next() == "++" else -1
                return _wrap(self._step(token, change) - change)
            return self._variable(token)
        return _number(token)

    def _step(self, name: str, change: int) -> int:
        value = _wrap(self._variable(name) + change)
        self._store(name, str(value))
        return value

    def _variable(self, name: str) -> int:
        value = self._load(name).strip()
        negative = value.startswith("-")
        return 0 if not value else _wrap((-1 if negative else 1) * _number(value.removeprefix("-")))

    @staticmethod
    def _is_name(token: str) -> bool:
        return token[:1].isalpha() or token[:1] == "_"


def _number(token: str) -> int:
    try:
        if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", token):
            return _wrap(int(token, 16))
        if re.fullmatch(r"[0-9]{1,20}", token):
            return _wrap(int(token, 8) if token.startswith("0") and len(token) > 1 else int(token))
    except ValueError:  # a digit 8 or 9 in an octal number
        pass
    raise ArithmeticFailure("syntax error")


def _apply(operator: str, left: int, right: int) -> int:
    if operator in {"/", "%"}:
        if not right:
            raise ArithmeticFailure("divide by zero")
        # Towards zero, as in C.
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if operator == "/" else left - quotient * right)
    results: dict[str, int] = {
        "||": int(bool(left or right)),
        "&&": int(bool(left and right)),
        "|": left | right,
        "^": left ^ right,
        "&": left & right,
        "==": int(left == right),
        "!=": int(left != right),
        "<": int(left < right),
        "<=": int(left <= right),
        ">": int(left > right),
        ">=": int(left >= right),
        "<<": left << (right % _BITS),
        ">>": left >> (right % _BITS),
        "+": left + right,
        "-": left - right,
        "*": left * right,
    }
    return _wrap(results[operator])
