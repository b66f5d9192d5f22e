"""Go's JSON scanner, for its message about a malformed document."""

from __future__ import annotations

import functools
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.quoting import quoted

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["JsonError", "problem_with"]

MAX_DEPTH: Final = 10_000
"""How deeply Go lets a document nest."""


class JsonError(ValueError):
    """A document that is not JSON; the message is Go's."""


def problem_with(data: bytes) -> str:
    """Return Go's message about a document; empty if it is JSON."""
    try:
        _Scanner(data).run()
    except JsonError as problem:
        return str(problem)
    return ""


_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRING: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
"""A string without its closing quote: as much of it as is valid."""
_PLAIN_STRING: Final = re.compile(rb'"[^"\\\x00-\x1f]*"')
"""A string without escapes."""
_NUMBER: Final = re.compile(rb"-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]*)?")
"""A number, or as much as looks like one."""


def _whole_values() -> bytes:
    """A pattern of valid values with the usual depth; it never backtracks over a byte."""
    string = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
    # The sign after a number is required, so that "1.5.2" is left to the exact scanner.
    number = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?=[ \t\r\n,\]}])"
    blank = rb"[ \t\r\n]*+"
    value = rb"(?:%b|%b|true|false|null|\{%b\}|\[%b\])" % (string, number, blank, blank)
    for _ in range(_SKIPPED_DEPTH):
        pair = rb"%b%b%b:%b%b%b" % (blank, string, blank, blank, value, blank)
        element = rb"%b%b%b" % (blank, value, blank)
        members = rb'\{(?:%b(?:,(?=%b")|(?=\})))++\}' % (pair, blank)
        elements = rb"\[(?:%b(?:,(?!%b\])|(?=\])))++\]" % (element, blank)
        value = rb"(?:%b|%b|%b)" % (value, members, elements)
    return value


_SKIPPED_DEPTH: Final = 3
_LITERALS: Final = {ord(word[0]): word for word in ("true", "false", "null")}
_NUMBER_STARTS: Final = frozenset(b"-0123456789")


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """A state of the scanner: what may come next, a value, a key or a sign.

    Attributes:
        complaint: The message about anything else.
        signs: The signs that may come, and the state after each; None where the object or array is left.
    """

    complaint: str
    signs: dict[bytes, _State | None]


_AFTER_TOP: Final = _State("after top-level value", {})
_VALUE: Final = _State("looking for beginning of value", {})
_VALUE_OR_END: Final = _State(_VALUE.complaint, {b"]": None})
_KEY: Final = _State("looking for beginning of object key string", {})
_KEY_OR_END: Final = _State(_KEY.complaint, {b"}": None})
_AFTER_KEY: Final = _State("after object key", {b":": _VALUE})
_AFTER_PAIR: Final = _State("after object key:value pair", {b",": _KEY, b"}": None})
_AFTER_ELEMENT: Final = _State("after array element", {b",": _VALUE, b"]": None})
_OPENED: Final = {b"{": (_KEY_OR_END, _AFTER_PAIR), b"[": (_VALUE_OR_END, _AFTER_ELEMENT)}
"""The state within an object or array, and the one after each value in it."""


@functools.cache
def _skipped() -> dict[_State, re.Pattern[bytes]]:
    """The valid values that may be skipped where they repeat: few documents have their error early."""
    if sys.version_info < (3, 11, 5):  # whose possessive quantifiers are wrong in nested groups
        return {}
    value = _whole_values()
    before = rb"[ \t\r\n]*+,[ \t\r\n]*+"
    key = rb'"[^"\\\x00-\x1f]*+"[ \t\r\n]*+:[ \t\r\n]*+'
    return {
        _AFTER_ELEMENT: re.compile(rb"(?:%b%b)*+" % (before, value)),
        _AFTER_PAIR: re.compile(rb"(?:%b%b%b)*+" % (before, key, value)),
    }


class _Scanner:
    """Scans a document token by token, up to the first byte that Go's scanner would not accept."""

    def __init__(self, data: bytes) -> None:
        # Go checks whether a space may follow the end, and its message is about that space.
        self._data = data + b" "
        self._at = 0
        self._after: list[_State] = []

    def run(self) -> None:
        """Scan all of it.

        Raises:
            JsonError: If it is not JSON.
        """
        data, state, skipped = self._data, _VALUE, _skipped()
        while True:
            # Whole values in one match of C code; the scanner in Python sees only the rest.
            if state in skipped:
                self._skip(skipped[state])
            if (start := self._skip(_SPACE)) >= len(data):
                break
            sign = data[start : start + 1]
            if sign in state.signs:
                self._at += 1
                state = state.signs[sign] or self._leave()
            elif state in (_VALUE, _VALUE_OR_END):
                state = self._value(sign)
            elif state in (_KEY, _KEY_OR_END) and sign == b'"':
                self._string()
                state = _AFTER_KEY
            else:
                self._refuse(start, state.complaint)
        if state is not _AFTER_TOP:
            raise JsonError("unexpected end of JSON input")

    def _skip(self, pattern: re.Pattern[bytes]) -> int:
        match = pattern.match(self._data, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _leave(self) -> _State:
        self._after.pop()
        return self._after[-1] if self._after else _AFTER_TOP

    def _value(self, sign: bytes) -> _State:
        if sign in _OPENED:
            state, after = _OPENED[sign]
            self._after.append(after)
            # The scanner keeps a list instead of recursing, so that only this limit bounds the depth.
            if len(self._after) > MAX_DEPTH:
                self._refuse(self._at, "exceeded max depth")
            self._at += 1
            return state
        if sign == b'"':
            self._string()
        elif sign[0] in _NUMBER_STARTS:
            self._number()
        elif sign[0] in _LITERALS:
            self._literal(_LITERALS[sign[0]])
        else:
            self._refuse(self._at, _VALUE.complaint)
        return self._after[-1] if self._after else _AFTER_TOP

    def _string(self) -> None:
        data = self._data
        plain = _PLAIN_STRING.match(data, self._at)
        if plain is not None:  # the usual case, also for long strings
            self._at = plain.end()
            return
        end = self._skip(_STRING)
        # The end is the blank that was added, so that the string is not closed.
        if end == len(data):
            raise JsonError("unexpected end of JSON input")
        if data[end : end + 2] == b"\\u":
            digits = re.compile(rb"[0-9a-fA-F]*").match(data, end + 2)
            self._refuse(digits.end() if digits else end, "in \\u hexadecimal character escape")
        if data[end] == ord("\\"):
            self._refuse(end + 1, "in string escape code")
        if data[end] != ord('"'):
            self._refuse(end, "in string literal")
        self._at += 1

    def _number(self) -> None:
        match = _NUMBER.match(self._data, self._at)
        whole, fraction, exponent = match.groups() if match else (None, None, None)
        start = self._at
        self._skip(_NUMBER)
        if match is None or whole is None:
            self._refuse(start + 1, "in numeric literal")
        if fraction == b".":
            self._refuse(match.end(2), "after decimal point in numeric literal")
        if exponent and not exponent[-1:].isdigit():
            self._refuse(match.end(3), "in exponent of numeric literal")

    def _literal(self, word: str) -> None:
        # Go names the first wrong character, and not the word.
        for offset, expected in enumerate(word):
            if self._data[self._at + offset] != ord(expected):
                self._refuse(self._at + offset, f"in literal {word} (expecting '{expected}')")
        self._at += len(word)

    def _refuse(self, position: int, complaint: str) -> NoReturn:
        raise JsonError(f"invalid character {_format_byte(self._data[position])} {complaint}")


def _format_byte(byte: int) -> str:
    """Format a byte as Go's scanner does, which takes bytes beyond ASCII for Latin-1."""
    character = chr(byte)
    return {"'": r"'\''", '"': "'\"'"}.get(character) or f"'{quoted(character)[1:-1]}'"
