"""The tokens of Go templates: text, the delimiters of actions, and the words between them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GoTemplateError", "Kind", "Token", "place", "read_tokens", "unquote"]

_SPACE: Final = " \t\r\n"
_SPACES: Final = re.compile(r"[ \t\r\n]*")
_WORD: Final = re.compile(
    r"""
    (?P<string> "(?:[^"\\\n]|\\[^\n])*")
    | (?P<raw> `[^`]*`)
    | (?P<character> '(?:[^'\\\n]|\\[^\n])*')
    | (?P<declare> :=)
    | (?P<assign> =)
    | (?P<pipe> \|)
    | (?P<comma> ,)
    | (?P<open> \()
    | (?P<close> \))
    | (?P<variable> \$\w*)
    | (?P<number> [+-]?\.?[0-9](?:[eE][+-](?=[0-9])|[pP][+-](?=[0-9])|[\w.])*)
    | (?P<field> \.\w+)
    | (?P<dot> \.)
    | (?P<identifier> \w+)
    """,
    re.VERBOSE,
)
_ENDED: Final = frozenset({"variable", "field", "dot", "identifier"})
_TERMINATORS: Final = frozenset(" \t\r\n.,|:)(")
_UNCLOSED: Final = {
    '"': "a string is not closed",
    "`": "a raw string is not closed",
    "'": "a character constant is not closed",
}
_ESCAPE: Final = re.compile(
    r"""\\(?:([abfnrtv\\'"])|([0-7]{3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))""", re.DOTALL
)
_LETTERS: Final = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))
_MAX_CODE_POINT: Final = 0x10FFFF
_MAX_BYTE: Final = 0xFF


class GoTemplateError(ValueError):
    """A template is invalid, or does not fit the data."""


class Kind(Enum):
    """What a token is."""

    TEXT = auto()
    LEFT = auto()
    RIGHT = auto()
    STRING = auto()
    RAW = auto()
    CHARACTER = auto()
    DECLARE = auto()
    ASSIGN = auto()
    PIPE = auto()
    COMMA = auto()
    OPEN = auto()
    CLOSE = auto()
    VARIABLE = auto()
    NUMBER = auto()
    FIELD = auto()
    DOT = auto()
    IDENTIFIER = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        kind: Its kind.
        text: Its text; of delimiters, empty.
        at: Where it begins, in characters.
        after_space: Whether blanks stand before it, inside an action.
    """

    kind: Kind
    text: str
    at: int
    after_space: bool = False


def place(template: str, at: int) -> str:
    """The line and column of a position."""
    line = template.count("\n", 0, at) + 1
    column = at - (template.rfind("\n", 0, at) + 1) + 1
    return f"line {line}, column {column}"


def read_tokens(template: str) -> Iterator[Token]:
    """Yield the tokens of a template; the last one is of kind END.

    Raises:
        GoTemplateError: If there is an invalid character, or something is not closed.
    """
    at = 0
    while True:
        start = template.find("{{", at)
        if start < 0:
            break
        inside = start + 2
        # A trim marker is a dash next to a blank: {{-3}} prints a number.
        trims = template[inside : inside + 1] == "-" and template[inside + 1 : inside + 2] in set(_SPACE)
        text = template[at:start].rstrip(_SPACE) if trims else template[at:start]
        # A trimmed text may be empty.
        if text:
            yield Token(Kind.TEXT, text, at)
        inside += 2 if trims else 0
        if template.startswith("/*", inside):
            at = _skip_comment(template, inside)
            continue
        yield Token(Kind.LEFT, "", start)
        tokens, at = _read_action(template, inside)
        yield from tokens
    if template[at:]:
        yield Token(Kind.TEXT, template[at:], at)
    yield Token(Kind.END, "", len(template))


def _skip_comment(template: str, start: int) -> int:
    """Return the position after a comment and its closing delimiter."""
    end = template.find("*/", start + 2)
    if end < 0:
        raise GoTemplateError(f"{place(template, start)}: a comment is not closed")
    after = _after_right(template, end + 2)
    if after is None:
        raise GoTemplateError(f"{place(template, end)}: a comment ends before the end of its action")
    return after


def _after_right(template: str, at: int) -> int | None:
    """The position after a closing delimiter, and after the blanks that it trims, or None."""
    if template.startswith("}}", at):
        return at + 2
    # The blank before the dash belongs to the marker.
    if template.startswith("-}}", at + 1) and template[at] in _SPACE:
        return _after_spaces(template, at + 4)
    return None


def _after_spaces(template: str, at: int) -> int:
    match = _SPACES.match(template, at)
    return match.end() if match else at


def _read_action(template: str, at: int) -> tuple[list[Token], int]:
    """Return the tokens of an action, and the position after it."""
    tokens: list[Token] = []
    start = at - 2
    depth = 0
    while True:
        word_at = _after_spaces(template, at)
        # The last blank may be part of a trim marker.
        closing = word_at - 1 if word_at > at and template.startswith("-}}", word_at) else word_at
        after = _after_right(template, closing)
        if after is not None:
            if depth:
                raise GoTemplateError(f"{place(template, word_at)}: a parenthesis is not closed")
            tokens.append(Token(Kind.RIGHT, "", word_at))
            return tokens, after
        if word_at == len(template):
            raise GoTemplateError(f"{place(template, start)}: an action is not closed")
        token = _read_word(template, word_at, after_space=word_at > at)
        # Parentheses are counted here, so that an action cannot end within one.
        depth += {Kind.OPEN: 1, Kind.CLOSE: -1}.get(token.kind, 0)
        if depth < 0:
            raise GoTemplateError(f"{place(template, word_at)}: unexpected )")
        tokens.append(token)
        at = word_at + len(token.text)


def _read_word(template: str, at: int, *, after_space: bool) -> Token:
    match = _WORD.match(template, at)
    if match is None:
        problem = _UNCLOSED.get(template[at], f"unexpected {template[at]!r}")
        raise GoTemplateError(f"{place(template, at)}: {problem}")
    name = match.lastgroup or ""
    follows = template[match.end() : match.end() + 1]
    # Words have to end where they end: "$x+2" is no arithmetic.
    if name in _ENDED and follows and follows not in _TERMINATORS and not template.startswith("}}", match.end()):
        raise GoTemplateError(f"{place(template, match.end())}: unexpected {follows!r}")
    return Token(Kind[name.upper()], match[0], at, after_space)


def unquote(token: Token, template: str) -> str:
    """The value of a string, raw string or character constant.

    Raises:
        GoTemplateError: If an escape is invalid.
    """
    inside = token.text[1:-1]
    # Go drops carriage returns from raw strings.
    if token.kind is Kind.RAW:
        return inside.replace("\r", "")
    quote = token.text[0]
    value = bytearray()
    end = 0
    for match in _ESCAPE.finditer(inside):
        value += inside[end : match.start()].encode("utf-8", "surrogatepass")
        end = match.end()
        value += _unescape(match, quote, f"{place(template, token.at + 1 + match.start())}: invalid escape {match[0]}")
    value += inside[end:].encode("utf-8", "surrogatepass")
    # Octal and hexadecimal escapes are bytes, and may be no text.
    return value.decode("utf-8", "replace")


def _unescape(match: re.Match[str], quote: str, problem: str) -> bytes:
    letter, octal, byte, short, long, _ = match.groups()
    if letter and not (letter in "'\"" and letter != quote):
        return _LETTERS[letter].encode()
    if octal and int(octal, 8) <= _MAX_BYTE:
        return bytes([int(octal, 8)])
    if byte:
        return bytes.fromhex(byte)
    code = short or long
    if code and int(code, 16) <= _MAX_CODE_POINT and not "d800" <= code.lower() <= "dfff":
        return chr(int(code, 16)).encode("utf-8", "replace")
    raise GoTemplateError(problem)
