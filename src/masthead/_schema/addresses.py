"""URIs and email addresses: valid if Go's ``net/url`` and ``net/mail`` parse them."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from masthead._cel.library.urls import parse_request_uri

__all__ = ["is_email", "is_request_uri"]


def is_request_uri(text: str) -> bool:
    """Tell whether a text is an absolute URI or an absolute path."""
    try:
        parse_request_uri(text)
    except ValueError:
        return False
    return True


_SPECIAL: Final = frozenset('()<>[]:;@\\,"')
_QUOTED: Final = re.compile(r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[\t\x20-\x7e\x80-\U0010ffff])*+"')
_DOMAIN_LITERAL: Final = re.compile(r"\[([^\[\]\\\x00-\x20\x7f-\U0010ffff]*)\]")


def is_email(text: str) -> bool:
    """Tell whether a text is one mail address, with or without a name before it, or a group of one."""
    return _Address(text).parse()


class _Address:
    """A parser of one address."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> bool:
        return self._read_address() and self._skip_comments() and self._at == len(self._text)

    def _read_address(self, *, may_be_group: bool = True) -> bool:
        self._skip_spaces()
        start = self._at
        if self._read_spec():
            return True
        self._at = start
        if not self._is_next("<") and not self._read_phrase():
            return False
        self._skip_spaces()
        if may_be_group and self._read(":"):
            return self._read_address(may_be_group=False) and self._skip_comments() and self._read(";")
        return self._read("<") and self._read_spec() and self._read(">")

    def _is_next(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _read(self, sign: str) -> bool:
        found = self._is_next(sign)
        self._at += found
        return found

    def _skip_spaces(self) -> None:
        while self._text[self._at : self._at + 1] in {" ", "\t"}:
            self._at += 1

    def _skip_comments(self) -> bool:
        """Skip spaces and comments; false if a comment does not end."""
        self._skip_spaces()
        while self._read("("):
            depth = 1
            while depth and self._at < len(self._text):
                sign = self._text[self._at]
                self._at += 2 if sign == "\\" else 1
                depth += (sign == "(") - (sign == ")")
            if depth or self._at > len(self._text):
                return False
            self._skip_spaces()
        return True

    def _read_spec(self) -> bool:
        self._skip_spaces()
        if not (self._read_quoted() if self._is_next('"') else self._read_atom()) or not self._read("@"):
            return False
        self._skip_spaces()
        if not self._is_next("["):
            return self._read_atom()
        found = _DOMAIN_LITERAL.match(self._text, self._at)
        if found is None:
            return False
        self._at = found.end()
        try:
            ipaddress.ip_address(found[1])
        except ValueError:
            return False
        return True

    def _read_quoted(self) -> bool:
        found = _QUOTED.match(self._text, self._at)
        if found is None:
            return False
        self._at = found.end()
        return True

    def _read_atom(self, *, is_phrase: bool = False) -> bool:
        start = self._at
        while self._at < len(self._text) and _is_atom_character(self._text[self._at]):
            self._at += 1
        atom = self._text[start : self._at]
        if is_phrase:
            return bool(atom)
        return bool(atom) and not atom.startswith(".") and not atom.endswith(".") and ".." not in atom

    def _read_phrase(self) -> bool:
        words = 0
        while True:
            if words and not self._skip_comments():
                return False
            self._skip_spaces()
            if not (self._read_quoted() if self._is_next('"') else self._read_atom(is_phrase=True)):
                return words > 0
            words += 1


def _is_atom_character(character: str) -> bool:
    return character >= "!" and character != "\x7f" and character not in _SPECIAL
