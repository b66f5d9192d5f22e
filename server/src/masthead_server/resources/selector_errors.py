"""kube-apiserver's messages about invalid selectors.

`masthead.meta` parses selectors, with other messages. This module is called for invalid ones only: it
reads the text once more, as kube-apiserver does, up to the word at which that one gives up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import FieldError, invalid
from masthead_server.resources.names import LABEL_VALUE, qualified_name
from masthead_server.wire.go_numbers import parse_int

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["field_problem", "label_problem"]


def label_problem(text: str) -> str:
    """Return the error of a label selector.

    A NUL, where kube-apiserver stops reading and `masthead.meta` does not, has a message of our own.
    """
    try:
        _Labels(text).check()
    except _Refused as problem:
        return str(problem)
    return "unable to parse requirement: found a NUL character"


def field_problem(text: str) -> str:
    """Return the error of a field selector.

    kube-apiserver can read a term without a key, which `masthead.meta` refuses, but then knows no such field.
    kube-apiserver's message depends on the resource; this is the most common one. A term with neither key nor value
    is no error, and selects everything.
    """
    # kube-apiserver sorts the terms before it reads them, which decides what it reports.
    for term in sorted(_TERM.findall(text)):
        sign = _FIELD_OPERATOR.search(term)
        if sign is None:
            return f"invalid selector: '{text}'; can't understand '{term}'"
        if problem := _escape_problem(term[sign.end() :]):
            return f"invalid field selector: {problem}"
    return "field label not supported: "


class _Refused(Exception):  # noqa: N818 - it never leaves this module
    """The error at which parsing stops."""


_TOKEN: Final = re.compile(r"(==|!=|[=!(),<>]|[^ \t\r\n\0=!(),<>]+)\0?|(\0)")
"""A NUL belongs to the preceding word or sign; alone, it ends the text."""
_SIGNS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_WORD: Final = "word"
_END: Final = ""
_SET_OPERATORS: Final = frozenset({"in", "notin"})
_ORDERINGS: Final = frozenset({"<", ">"})
_VALUE_OPERATORS: Final = frozenset({"=", "==", "!="}) | _ORDERINGS


class _Labels:
    """A label selector, read from left to right.

    A token's kind is `_WORD`, a sign, or `_END`; ``in`` and ``notin`` are words, since keys and values may be
    called so too.
    """

    def __init__(self, text: str) -> None:
        self._words: list[str] = []
        for word, end in _TOKEN.findall(text):
            if end:
                break
            self._words.append(word)
        self._words.append(_END)
        self._index = 0

    def check(self) -> None:
        """Read all of it.

        Raises:
            _Refused: If it cannot be read.
        """
        while self._kind != _END:
            if self._kind not in {_WORD, "!"}:
                self._refuse("!, identifier, or 'end of string'")
            try:
                self._requirement()
            except _Refused as problem:
                raise _Refused(f"unable to parse requirement: {problem}") from None
            if self._kind not in {",", _END}:
                self._refuse("',' or 'end of string'")
            if self._take() == "," and self._kind not in {_WORD, "!"}:
                self._refuse("identifier after ','")

    @property
    def _next(self) -> str:
        return self._words[min(self._index, len(self._words) - 1)]

    @property
    def _kind(self) -> str:
        return self._next if self._next in _SIGNS or self._next == _END else _WORD

    def _take(self) -> str:
        word = self._next
        self._index += 1
        return word

    def _refuse(self, expected: str) -> NoReturn:
        raise _Refused(f"found '{self._next}', expected: {expected}")

    def _requirement(self) -> None:
        is_negated = self._kind == "!"
        if is_negated:
            self._take()
        if self._kind != _WORD:
            self._refuse("identifier")
        key = self._take()
        if problems := qualified_name(key):
            raise _Refused(str(invalid("<nil>", key, "; ".join(problems))))
        if is_negated or self._kind in {",", _END}:
            return
        if self._next not in _SET_OPERATORS | _VALUE_OPERATORS:
            self._refuse("in, notin, =, ==, !=, gt, lt")
        operator = self._take()
        values = sorted(self._set()) if operator in _SET_OPERATORS else [self._value()]
        _check(key, operator, values)

    def _value(self) -> str:
        if self._kind in {",", _END}:
            return ""
        if self._kind != _WORD:
            self._refuse("identifier")
        return self._take()

    def _set(self) -> set[str]:
        if self._kind != "(":
            # The one message that has no comma here.
            raise _Refused(f"found '{self._next}' expected: '('")
        self._take()
        if self._kind not in {_WORD, ",", ")"}:
            self._refuse("',', ')' or identifier")
        values = {self._element()}
        while self._take() == ",":
            values.add(self._element())
        return values

    def _element(self) -> str:
        """Read a value of a set, up to the sign that ends it; a missing value is the empty string."""
        if self._kind in {",", ")"}:
            return ""
        if self._kind != _WORD:
            self._refuse("',', or identifier")
        value = self._take()
        if self._kind not in {",", ")"}:
            self._refuse("',' or ')'")
        return value


def _check(key: str, operator: str, values: list[str]) -> None:
    errors: list[FieldError] = []
    if operator in _ORDERINGS and not _is_integer(values[0]):
        problem = "for 'Gt', 'Lt' operators, the value must be an integer"
        errors.append(invalid("values[0]", values[0], problem))
    for index, value in enumerate(values):
        if problems := LABEL_VALUE(value):
            errors.append(invalid(f"values[{index}][{key}]", value, "; ".join(problems)))
    if errors:
        messages = [str(error) for error in errors]
        raise _Refused(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")


def _is_integer(value: str) -> bool:
    try:
        parse_int(value)
    except ValueError:
        return False
    return True


_TERM: Final = re.compile(r"(?:\\.|[^,\\]++|\\\Z)++", re.DOTALL)
"""Split at commas that no backslash precedes."""
_FIELD_OPERATOR: Final = re.compile(r"!=|==|=")
_ESCAPE: Final = re.compile(r"\\(.?)|([,=])", re.DOTALL)


def _escape_problem(value: str) -> str | None:
    for escape in _ESCAPE.finditer(value):
        escaped, bare = escape.groups()
        if bare:
            return f"unescaped character in value: {ord(bare)}"
        if escaped not in {"\\", ",", "="} or not escaped:
            return f"invalid escape sequence: {escape.group()}"
    return None
