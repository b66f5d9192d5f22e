"""Expands words: variables, defaults, prefixes, arithmetic, the fields that ``IFS`` makes of them, and globs."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.kubelet.shell.arithmetic import ArithmeticFailure, evaluate
from masthead_server.kubelet.shell.globs import find_paths, is_glob
from masthead_server.kubelet.shell.patterns import escape_pattern, matches_pattern
from masthead_server.kubelet.shell.variables import MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from masthead_server.kubelet.shell.nodes import Part, Word
    from masthead_server.kubelet.shell.state import ShellState

__all__ = ["chosen_operand", "expand_pattern", "expand_text", "field_separators", "split_fields"]

_MAX_VALUE: Final = 4096
"""Characters of a value that a pattern is removed from: the time is quadratic."""
_MAX_FIELDS: Final = 128 * 1024
_MAX_SEPARATORS: Final = 256
_DEFAULT_SEPARATORS: Final = " \t\n"
_ALL_ARGUMENTS: Final = frozenset({"@", "*"})


def field_separators(state: ShellState) -> str:
    """Return the value of ``IFS``."""
    return state.variables.get("IFS", _DEFAULT_SEPARATORS)


def split_fields(words: Iterable[Word], state: ShellState) -> list[str]:
    """Expand words: the values of variables without quotes are split, and globs become the paths that match.

    Raises:
        OSError: If a word, or all of them together, are too long, or an expansion fails.
    """
    fields: list[str] = []
    size = 0
    for word in words:
        for field in _split(word, state):
            # A short script may repeat a long variable.
            size += len(field)
            if size > MAX_TEXT or len(fields) >= _MAX_FIELDS:
                raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
            fields.append(field)
    return fields


def expand_text(word: Word, state: ShellState) -> str:
    """Expand a word to a single text.

    Raises:
        OSError: If it is too long, or an expansion fails.
    """
    return state.expand(_texts(word, state))


def expand_pattern(word: Word, state: ShellState) -> str:
    """Expand a word to a pattern, in which quoted characters mean themselves.

    Raises:
        OSError: If it is too long, or an expansion fails.
    """
    return state.expand(
        escape_pattern(text) if part.is_quoted else text for part, text in zip(word, _texts(word, state), strict=True)
    )


def _texts(word: Word, state: ShellState) -> Iterator[str]:
    for index, part in enumerate(word):
        if part.is_variable:
            yield _value_of(part, state)
        else:
            yield part.text if index or part.is_quoted else _expand_tilde(part.text, state, is_alone=len(word) == 1)


def _expand_tilde(text: str, state: ShellState, *, is_alone: bool) -> str:
    if text.startswith("~/") or (text == "~" and is_alone):
        return state.variables.get("HOME", "~") + text[1:]
    return text


class _Piece(NamedTuple):
    """A part of a field, and whether its signs are those of a glob."""

    text: str
    is_pattern: bool


class _Fields:
    """Collects the fields of a word.

    Args:
        separators: The value of ``IFS``.
    """

    def __init__(self, separators: str) -> None:
        self.found: list[list[_Piece]] = []
        self._is_open = False
        separators = separators[:_MAX_SEPARATORS]
        blanks = re.escape("".join(character for character in separators if character in _DEFAULT_SEPARATORS))
        others = re.escape("".join(character for character in separators if character not in _DEFAULT_SEPARATORS))
        around = f"[{blanks}]*" if blanks else ""
        forms = ([f"{around}([{others}]){around}"] if others else []) + ([f"[{blanks}]+"] if blanks else [])
        self._separator = re.compile("|".join(forms)) if forms else None

    def add(self, text: str, *, is_pattern: bool = False) -> None:
        """Add text that is not split."""
        if not self._is_open:
            self.found.append([])
            self._is_open = True
        self.found[-1].append(_Piece(text, is_pattern))

    def end_field(self) -> None:
        """Let the next text begin another field."""
        self._is_open = False

    def split(self, value: str) -> None:
        """Add the fields of a value."""
        position = 0
        for found in self._separator.finditer(value) if self._separator is not None else ():
            if found.start() > position:
                self.add(value[position : found.start()], is_pattern=True)
            # A separator other than a blank ends a field, even an empty one.
            if found.lastindex and not self._is_open:
                self.add("")
            self.end_field()
            position = found.end()
        if position < len(value):
            self.add(value[position:], is_pattern=True)


def _split(word: Word, state: ShellState) -> list[str]:
    fields = _Fields(field_separators(state))
    for index, part in enumerate(word):
        if part.is_variable:
            _split_part(part, fields, state)
        elif not index and not part.is_quoted:
            fields.add(_expand_tilde(part.text, state, is_alone=len(word) == 1), is_pattern=True)
        else:
            fields.add(part.text, is_pattern=not part.is_quoted)
    # "$@" without arguments is no field, but an empty text within quotes is one.
    has_no_arguments = any(part.is_quoted and part.is_variable and part.text == "@" for part in word)
    is_empty = len(fields.found) == 1 and not any(piece.text for piece in fields.found[0])
    if is_empty and has_no_arguments and len(state.arguments) == 1:
        return []
    return [text for field in fields.found for text in _expand_field(field, state)]


def _expand_field(pieces: Sequence[_Piece], state: ShellState) -> list[str]:
    """Return the paths that a field stands for, or its text."""
    if "f" not in state.options and any(piece.is_pattern and is_glob(piece.text) for piece in pieces):
        pattern = state.expand(piece.text if piece.is_pattern else escape_pattern(piece.text) for piece in pieces)
        if paths := find_paths(pattern, state):
            return paths
    return [state.expand(piece.text for piece in pieces)]


def _split_part(part: Part, fields: _Fields, state: ShellState) -> None:
    if part.text in _ALL_ARGUMENTS and not part.operator:
        _split_arguments(part, fields, state)
    elif part.is_quoted:
        fields.add(_value_of(part, state))
    elif (operand := chosen_operand(part, state)) and part.operator[-1] in "-+":
        for inner in operand:
            if inner.is_variable:
                _split_part(inner, fields, state)
            elif inner.is_quoted:
                fields.add(inner.text)
            else:
                fields.split(inner.text)
    else:
        fields.split(_value_of(part, state))


def _split_arguments(part: Part, fields: _Fields, state: ShellState) -> None:
    if part.is_quoted and part.text == "*":
        fields.add(_value_of(part, state))
        return
    for index, argument in enumerate(state.arguments[1:]):
        if index:
            fields.end_field()
        if part.is_quoted:
            fields.add(argument)
        else:
            fields.split(argument)


def _value_of(part: Part, state: ShellState) -> str:
    if part.value is not None:
        return part.value
    if part.operator == "((":
        return _calculate(part, state)
    if not part.operator:
        return _required(part.text, state)
    return _change(part, state)


def _calculate(part: Part, state: ShellState) -> str:
    try:
        return str(
            evaluate(expand_text(part.operand, state), lambda name: _find_value(name, state) or "", state.assign)
        )
    except ArithmeticFailure as error:
        raise OSError(errno.EINVAL, f"arithmetic: {error}") from error


def _required(name: str, state: ShellState) -> str:
    """The value of a parameter, which must be set with ``set -u``."""
    value = _find_value(name, state)
    if value is None and "u" in state.options and name not in _ALL_ARGUMENTS:
        raise OSError(errno.EINVAL, f"{name}: parameter not set")
    return value or ""


def _change(part: Part, state: ShellState) -> str:
    """Apply the operator of an expansion."""
    operator, name = part.operator, part.text
    if operator == "#length":
        return str(len(state.arguments) - 1 if name in _ALL_ARGUMENTS else len(_required(name, state)))
    if operator[0] in "#%":
        return _strip(_required(name, state), expand_pattern(part.operand, state), operator)
    operand = chosen_operand(part, state)
    if operand is None:
        return (_find_value(name, state) or "") if operator[-1] != "+" else ""
    text = expand_text(operand, state)
    if operator[-1] == "=":
        if not name[0].isalpha() and name[0] != "_":
            raise OSError(errno.EINVAL, f"{name}: bad variable name")
        state.assign(name, text)
    if operator[-1] == "?":
        default = "parameter not set or null" if operator[0] == ":" else "parameter not set"
        raise OSError(errno.EINVAL, f"{name}: {text or default}")
    return text


def chosen_operand(part: Part, state: ShellState) -> Word | None:
    """Return the word behind ``:-`` and the like, if the expansion uses it instead of the variable."""
    if not part.is_variable or not part.operator or part.operator[-1] not in "-=?+":
        return None
    value = _find_value(part.text, state)
    # Without a colon, an empty value counts.
    is_set = bool(value) if part.operator[0] == ":" else value is not None
    return part.operand if is_set == (part.operator[-1] == "+") else None


def _strip(value: str, pattern: str, operator: str) -> str:
    """Remove a prefix (``#``) or suffix (``%``) that matches a pattern: the shortest, or the longest if doubled."""
    if len(value) > _MAX_VALUE:
        raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
    is_prefix, is_longest = operator[0] == "#", len(operator) == 2
    sizes = range(len(value), -1, -1) if is_longest else range(len(value) + 1)
    for size in sizes:
        piece = value[:size] if is_prefix else value[len(value) - size :]
        if matches_pattern(piece, pattern):
            return value[size:] if is_prefix else value[: len(value) - size]
    return value


def _find_value(name: str, state: ShellState) -> str | None:
    """The value of a parameter; None if it is not set."""
    if name.isdigit():
        return state.arguments[int(name)] if int(name) < len(state.arguments) else None
    if name in _ALL_ARGUMENTS:
        separator = " " if name == "@" else field_separators(state)[:1]
        return separator.join(state.arguments[1:]) if len(state.arguments) > 1 else None
    if name == "!":
        return str(state.jobs.last) if state.jobs.last else None
    if name in _SPECIAL:
        return _SPECIAL[name](state)
    return state.variables.values.get(name)


_SPECIAL: Final[Mapping[str, Callable[[ShellState], str]]] = {
    "?": lambda state: str(state.status),
    "$": lambda state: str(state.process.shell_id),
    "#": lambda state: str(len(state.arguments) - 1),
    "-": lambda state: "".join(sorted(letter for letter in state.options if len(letter) == 1)),
}
