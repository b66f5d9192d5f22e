"""The lexer: from text to tokens."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from masthead._cel.errors import Issue

__all__ = ["LexicalToken", "tokenize", "unescape"]


class LexicalToken(NamedTuple):
    """A token.

    Attributes:
        kind: ``IDENTIFIER``, ``NUM_INT``, ``STRING`` and so on; a symbol is its own kind.
        text: The text.
        offset: Where it starts.
    """

    kind: str
    text: str
    offset: int


_ESCAPE: Final = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_STRING: Final = (
    r'[rR]"""[\s\S]*?"""'
    r"|[rR]'''[\s\S]*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_TOKEN: Final = re.compile(
    rf"""
    (?P<SKIP>[ \t\r\n\f]+|//[^\n]*)
    |(?P<BYTES>[bB](?:{_STRING}))
    |(?P<STRING>{_STRING})
    |(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
    |(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<ESC_IDENTIFIER>`[A-Za-z0-9_./\- ]+`)
    |(?P<SYMBOL>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    """,
    re.VERBOSE,
)
_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})
_SIMPLE_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE_PATTERN: Final = re.compile(_ESCAPE)
_UNCLOSED: Final = {quote: re.compile(rf"(?:{_ESCAPE}|[^\\{quote}\n\r])*") for quote in "'\""}
_CUT_ESCAPE: Final = re.compile(r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?")
"""The beginning of an escape."""
_MAX_CODE_POINT: Final = 0x10FFFF
_MAX_ISSUES: Final = 100
"""After so many errors nothing is read."""


def tokenize(source: str) -> tuple[list[LexicalToken], list[Issue]]:
    """Split an expression into tokens; the last one is ``EOF``.

    Returns:
        The tokens, and an error for each text that is not a token.
    """
    tokens: list[LexicalToken] = []
    issues: list[Issue] = []
    at = 0
    # Garbage must not produce an error for each of its characters.
    while at < len(source) and len(issues) <= _MAX_ISSUES:
        match = _TOKEN.match(source, at)
        if match is None:
            at = _skip_unknown(source, at, issues)
            continue
        kind = match.lastgroup or ""
        if kind != "SKIP":
            text = match.group()
            # Symbols and keywords are their own kind, which makes the parser simple.
            if kind == "SYMBOL" or text in _KEYWORDS:
                kind = text
            tokens.append(LexicalToken(kind, text, at))
        at = match.end()
    tokens.append(LexicalToken("EOF", "<EOF>", len(source)))
    return tokens, issues


def _skip_unknown(source: str, at: int, issues: list[Issue]) -> int:
    """Skip what no token starts with: an unclosed string as far as it goes, or a character."""
    end = at + 1
    first = source[at]
    if first in "=&|":
        # The lexer has read one character further, for ``==``, ``&&`` or ``||``.
        end = min(end + 1, len(source))
    elif first in _UNCLOSED:
        # The lexer has read the string up to what cannot be in one.
        body = _UNCLOSED[first].match(source, end)
        end = body.end() if body else end
        if cut := _CUT_ESCAPE.match(source, end):
            end = cut.end()
        end = min(end + 1, len(source))
    issues.append(Issue(at, f"Syntax error: token recognition error at: '{source[at:end]}'"))
    return end


def unescape(text: str, *, is_bytes: bool) -> str:
    r"""Return the value of a string literal; in bytes, each character is one byte.

    Raises:
        ValueError: If it has an invalid escape.
    """
    # CEL normalizes line ends inside of literals.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    is_raw = text[0] in "rR"
    body = text[1:] if is_raw else text
    # Two quotes are an empty string, not the beginning of a triple quote.
    width = 3 if len(body) >= 6 and body[:3] in {"'''", '"""'} else 1
    body = body[width:-width]
    if is_bytes:
        # Escapes are bytes; other characters are their UTF-8 encoding.
        body = body.encode("utf-8", "surrogatepass").decode("latin-1")
    if is_raw or "\\" not in body:
        return body
    return _ESCAPE_PATTERN.sub(lambda match: _unescape_one(match.group(), is_bytes=is_bytes), body)


def _unescape_one(escape: str, *, is_bytes: bool) -> str:
    letter = escape[1]
    if letter in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[letter]
    if letter in "\\'\"`?":
        return letter
    # A byte has no code point.
    if letter in "uU" and is_bytes:
        raise ValueError("unable to unescape string")
    code = int(escape[1:], 8) if letter in "0123" else int(f"0x{escape[2:]}", 16)
    if code > _MAX_CODE_POINT or 0xD800 <= code < 0xE000:
        raise ValueError("invalid unicode code point")
    return chr(code)
