"""Expands words: variables, their defaults and prefixes, arithmetic, and the fields that blanks make of them."""

from __future__ import annotations

import errno
import fnmatch
import os
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.arithmetic import ArithmeticFailure, evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead_server.kubelet.shell.nodes import Part, Word
    from masthead_server.kubelet.shell.state import ShellState

__all__ = ["expand_text", "split_fields"]

_MAX_PATTERN: Final = 64
_MAX_VALUE: Final = 4096
"""Characters of a pattern, and of a value that it is removed from: the time is quadratic."""


def split_fields(words: Iterable[Word], state: ShellState) -> list[str]:
    """Expand words; the values of variables without quotes are split at blanks.

    Raises:
        OSError: If a word is too long, or an expansion fails.
    """
    found: list[str] = []
    for word in words:
        found.extend(_split(word, state))
    return found


def expand_text(word: Word, state: ShellState) -> str:
    """Expand a word to a single text.

    Raises:
        OSError: If it is too long, or an expansion fails.
    """
    return state.expand(_value_of(part, state) if part.is_variable else part.text for part in word)


def _split(word: Word, state: ShellState) -> list[str]:
    fields: list[list[str]] = []
    is_open = False  # whether the last field continues
    for part in word:
        value = _value_of(part, state) if part.is_variable else part.text
        if part.is_quoted and part.text == "@" and len(word) <= 2:
            # "$@" is a field for each argument.
            return list(state.arguments[1:])
        if part.is_quoted or not part.is_variable:
            pieces, starts_anew, ends = [value], False, False
        else:
            # A value with blanks at its edges ends the field before, or after it.
            pieces, starts_anew, ends = value.split(), value[:1].isspace(), value[-1:].isspace()
        for index, piece in enumerate(pieces):
            if is_open and not index and not starts_anew:
                fields[-1].append(piece)
            else:
                fields.append([piece])
            is_open = True
        is_open = is_open and not ends and not (starts_anew and not pieces)
    return [state.expand(field) for field in fields]


def _value_of(part: Part, state: ShellState) -> str:
    if part.value is not None:
        return part.value
    if part.operator == "((":
        try:
            return str(evaluate(expand_text(part.operand, state), lambda name: _value(name, state), state.assign))
        except ArithmeticFailure as error:
            raise OSError(errno.EINVAL, f"arithmetic: {error}") from error
    value = _value(part.text, state)
    return _change(part, value, state) if part.operator else value


def _change(part: Part, value: str, state: ShellState) -> str:
    """Apply the operator of an expansion."""
    operator = part.operator
    if operator == "#length":
        return str(len(value))
    if operator[0] in "#%":
        return _strip(value, expand_text(part.operand, state), operator)
    # Without a colon, an empty value counts.
    is_set = bool(value) if operator[0] == ":" else _is_set(part.text, state)
    kind = operator[-1]
    if kind == "+":
        return expand_text(part.operand, state) if is_set else ""
    if is_set:
        return value
    default = expand_text(part.operand, state)
    if kind == "=":
        state.assign(part.text, default)
    if kind == "?":
        raise OSError(errno.EINVAL, f"{part.text}: {default or 'parameter not set'}")
    return default


def _is_set(name: str, state: ShellState) -> bool:
    return int(name) < len(state.arguments) if name.isdigit() else name in state.env


def _strip(value: str, pattern: str, operator: str) -> str:
    """Remove a prefix (``#``) or suffix (``%``) that matches a pattern: the shortest, or the longest if doubled."""
    if len(value) > _MAX_VALUE or len(pattern) > _MAX_PATTERN or pattern.count("*") > 2:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    is_prefix, is_longest = operator[0] == "#", len(operator) == 2
    sizes = range(len(value), -1, -1) if is_longest else range(len(value) + 1)
    for size in sizes:
        piece = value[:size] if is_prefix else value[len(value) - size :]
        if fnmatch.fnmatchcase(piece, pattern):
            return value[size:] if is_prefix else value[: len(value) - size]
    return value


def _value(name: str, state: ShellState) -> str:
    if name == "?":
        return str(state.status)
    # Every shell is the first process of its container.
    if name == "$":
        return "1"
    if name == "!":
        return str(state.jobs.last or "")
    if name == "#":
        return str(max(0, len(state.arguments) - 1))
    if name in {"@", "*"}:
        return " ".join(state.arguments[1:])
    if name.isdigit():
        return state.arguments[int(name)] if int(name) < len(state.arguments) else ""
    return state.env.get(name, "")
