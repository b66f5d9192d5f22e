"""The tokens of a script: operators, and words with their quotes and expansions. Nothing here runs anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.kubelet.shell.nodes import Part, Script, Word

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["REDIRECTION", "IncompleteScriptError", "ShellSyntaxError", "Token", "Tokenizer", "TokenList"]

_PARAMETER: Final = r"[A-Za-z_][A-Za-z0-9_]*|[0-9]{1,6}|[?$#@*!-]"
_VARIABLE: Final = re.compile(rf"\$(?:([A-Za-z_][A-Za-z0-9_]*|[0-9?$#@*!-])|\{{({_PARAMETER})\}})")
_LENGTH: Final = re.compile(r"\$\{#([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,6}|[@*])\}")
_CHANGED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,6}|[@*?!])(:?[-=+?]|##?|%%?)")
"""The start of an expansion that changes the value, such as ``${a:-b}`` and ``${a%.txt}``."""
_DUPLICATES: Final = r"[12]?>&(?:[12]|-)|0?<&-"
_OPERATOR: Final = re.compile(rf"{_DUPLICATES}|[12]?>>|[12]?>\||[12]?>|&>|<<-?|0?<|\|\||&&|;;|;|\||&|\n|\(|\)")
REDIRECTION: Final = re.compile(rf"{_DUPLICATES}|[12]?>[>|]?|&>|<<-?|0?<")
_UNSUPPORTED: Final = re.compile(r"[0-9]+[<>]|<<<|<&|<>")
"""Other file descriptors than the three standard ones, and redirections of other shells."""
_PLAIN: Final = re.compile(r"[^'\"\\$`\s<>|&;()]+")
"""Text without meaning for the shell."""
_QUOTED: Final = re.compile(r"[^\"\\$`]+|[\\\"]")
"""Text without meaning within double quotes, and a single character that may have one."""
_ENDS_WORD: Final = frozenset(" \t\r\n\f\v<>|&;()")
_MAX_SUBSTITUTIONS: Final = 8
_HERE: Final = frozenset({"<<", "<<-"})


class ShellSyntaxError(Exception):
    """A text is no command of the shell."""


class IncompleteScriptError(ShellSyntaxError):
    """A script ends in the middle of a command."""


Token: TypeAlias = str | Word


@dataclass(slots=True)
class TokenList:
    """The tokens of a script.

    Attributes:
        tokens: Operators, which are text, and words.
        ends: The position behind each of them.
        is_complete: Whether every here-document has its end.
    """

    tokens: list[Token]
    ends: list[int]
    is_complete: bool = True


class Tokenizer:
    """Splits a text into tokens.

    Args:
        text: The script.
        parse: Parses the scripts of substitutions.
    """

    def __init__(self, text: str, parse: Callable[[str], Script]) -> None:
        self._text = text
        self._parse = parse
        self._found = TokenList([], [])
        self._here: list[int] = []
        """Here-documents whose text begins behind the line: the positions of their delimiters among the tokens."""

    def run(self) -> TokenList:
        """Return all tokens.

        Raises:
            ShellSyntaxError: If a word or redirection is invalid or unsupported.
        """
        text, position = self._text, 0
        while position < len(text):
            character = text[position]
            if character in " \t\r\f\v":
                position += 1
            elif character == "#":
                end = text.find("\n", position)
                position = end if end >= 0 else len(text)
            # A line that continues.
            elif text.startswith("\\\n", position):
                position += 2
            else:
                position = self._read_token(position)
        # Without a line behind it, a here-document is empty.
        self._read_here_documents(position)
        return self._found

    def _read_token(self, position: int) -> int:
        if (unsupported := _UNSUPPORTED.match(self._text, position)) and not _OPERATOR.match(self._text, position):
            raise ShellSyntaxError(f'unexpected "{unsupported[0]}"')
        # Before words: "2>" is an operator only where a word could begin.
        operator = _OPERATOR.match(self._text, position)
        if operator is None:
            reader = _WordReader(self._text, position, self._parse)
            word = reader.read_word()
            self._append(word, reader.position)
            return reader.position
        if self._text.startswith(("<<<", "<>"), position) or (
            operator[0] == "<" and self._text[operator.end() :][:1] == "&"
        ):
            raise ShellSyntaxError(f'unexpected "{operator[0]}"')
        self._append(operator[0], operator.end())
        if operator[0] == "\n":
            return self._read_here_documents(operator.end())
        return operator.end()

    def _append(self, token: Token, end: int) -> None:
        if isinstance(token, tuple) and self._found.tokens and self._found.tokens[-1] in _HERE:
            self._here.append(len(self._found.tokens))
        self._found.tokens.append(token)
        self._found.ends.append(end)

    def _read_here_documents(self, position: int) -> int:
        """Replace the delimiters of here-documents by their texts; return the position behind them."""
        for index in self._here:
            delimiter = self._found.tokens[index]
            assert isinstance(delimiter, tuple)
            strips_tabs = self._found.tokens[index - 1] == "<<-"
            body, position = self._here_document(position, delimiter, strips_tabs=strips_tabs)
            self._found.tokens[index] = body
        self._here.clear()
        return position

    def _here_document(self, position: int, delimiter: Word, *, strips_tabs: bool) -> tuple[Word, int]:
        end_line = "".join(part.text for part in delimiter)
        lines: list[str] = []
        while True:
            if position >= len(self._text):
                self._found.is_complete = False
                break
            end = self._text.find("\n", position) + 1 or len(self._text)
            line = self._text[position:end]
            position = end
            line = line.lstrip("\t") if strips_tabs else line
            if line.removesuffix("\n") == end_line:
                break
            lines.append(line)
        text = "".join(lines)
        # A quoted delimiter means that nothing in the text is expanded.
        if any(part.is_quoted for part in delimiter):
            return (Part(text, is_quoted=True),), position
        return _join(_WordReader(text, 0, self._parse).read_quoted(None)), position


class _WordReader:
    """Reads a word.

    Args:
        text: The text.
        position: Where the word begins; later, where it ends.
        parse: Parses the scripts of substitutions.
    """

    def __init__(self, text: str, position: int, parse: Callable[[str], Script]) -> None:
        self._text = text
        self.position = position
        self._parse = parse

    def read_word(self, *, is_whole: bool = False) -> Word:
        """Read a word up to its end, or all of the text, with blanks and operators, as within braces."""
        parts: list[Part] = []
        while self.position < len(self._text):
            character = self._text[self.position]
            if character == "'":
                end = _closing(self._text, self.position, "'")
                parts.append(Part(self._text[self.position + 1 : end], is_quoted=True))
                self.position = end + 1
            elif character == '"':
                self.position += 1
                parts.extend(self.read_quoted('"'))
            elif character == "\\":
                parts.append(self._read_escaped())
            elif character == "$":
                parts.append(self._read_variable(is_quoted=False))
            elif character == "`":
                parts.append(self._read_backticks(is_quoted=False))
            elif (plain := _PLAIN.match(self._text, self.position)) is not None:
                parts.append(Part(plain[0]))
                self.position = plain.end()
            elif character in _ENDS_WORD and not is_whole:
                break
            else:
                parts.append(Part(character))
                self.position += 1
        return _join(parts)

    def _read_escaped(self) -> Part:
        escaped = self._text[self.position + 1 : self.position + 2]
        self.position += 2
        # A backslash at the very end is literal; one before a newline continues the line.
        return Part("", is_quoted=False) if escaped == "\n" else Part(escaped or "\\", is_quoted=True)

    def read_quoted(self, quote: str | None, *, drops_quotes: bool = False) -> list[Part]:
        """Read text in double quotes.

        Args:
            quote: The closing quote; None for all of the text.
            drops_quotes: Whether double quotes within it have no meaning, as in an expansion within quotes.

        Raises:
            ShellSyntaxError: If the quote is missing.
        """
        text, parts = self._text, [Part("", is_quoted=True)]  # or an empty one would be no word
        escapes = {"\\", "$", "`", "\n"} | ({'"'} if quote or drops_quotes else set[str]())
        while self.position < len(text):
            character = text[self.position]
            if character == quote:
                self.position += 1
                return parts
            if character == '"' and drops_quotes:
                self.position += 1
            # Within double quotes, a backslash escapes these alone.
            elif character == "\\" and text[self.position + 1 : self.position + 2] in escapes:
                escaped = text[self.position + 1]
                parts.append(Part("" if escaped == "\n" else escaped, is_quoted=True))
                self.position += 2
            elif character == "$":
                parts.append(self._read_variable(is_quoted=True))
            elif character == "`":
                parts.append(self._read_backticks(is_quoted=True))
            else:
                plain = _QUOTED.match(text, self.position)
                assert plain is not None
                parts.append(Part(plain[0], is_quoted=True))
                self.position = plain.end()
        if quote is not None:
            raise IncompleteScriptError("unterminated quoted string")
        return parts

    def _read_variable(self, *, is_quoted: bool) -> Part:
        text, position = self._text, self.position
        if text.startswith("$((", position) and (end := _arithmetic_end(text, position + 3)) >= 0:
            self.position = end + 2
            return self._arithmetic(text[position + 3 : end], is_quoted=is_quoted)
        if text.startswith("$(", position):
            end = _closing_parenthesis(text, position + 2)
            self.position = end + 1
            return self._command_part(text[position + 2 : end], is_quoted=is_quoted)
        if (length := _LENGTH.match(text, position)) is not None:
            self.position = length.end()
            return Part(length[1], is_variable=True, is_quoted=is_quoted, operator="#length")
        if (found := _VARIABLE.match(text, position)) is not None:
            self.position = found.end()
            return Part(found[1] or found[2], is_variable=True, is_quoted=is_quoted)
        if text.startswith("${", position):
            return self._read_changed_variable(is_quoted=is_quoted)
        # A dollar sign before anything else is text.
        self.position += 1
        return Part("$", is_quoted=is_quoted)

    def _read_changed_variable(self, *, is_quoted: bool) -> Part:
        found = _CHANGED.match(self._text, self.position)
        # All others are refused rather than misunderstood.
        if found is None:
            raise ShellSyntaxError("bad substitution")
        name, operator = found[1], found[2]
        # Within double quotes, a pattern has quotes, and a default has none.
        is_plain = is_quoted and operator[0] not in "#%"
        end = _closing_brace(self._text, found.end(), has_quotes=not is_plain)
        operand = self._operand(self._text[found.end() : end], is_plain=is_plain)
        self.position = end + 1
        return Part(name, is_variable=True, is_quoted=is_quoted, operator=operator, operand=operand)

    def _operand(self, text: str, *, is_plain: bool) -> Word:
        if text.count("${") + text.count("$(") > _MAX_SUBSTITUTIONS:
            raise ShellSyntaxError("nested too deeply")
        reader = _WordReader(text, 0, self._parse)
        return _join(reader.read_quoted(None, drops_quotes=True)) if is_plain else reader.read_word(is_whole=True)

    def _arithmetic(self, text: str, *, is_quoted: bool) -> Part:
        if text.count("$((") > _MAX_SUBSTITUTIONS:
            raise ShellSyntaxError("nested too deeply")
        operand = _WordReader(text, 0, self._parse).read_quoted(None, drops_quotes=True)
        return Part("", is_variable=True, is_quoted=is_quoted, operator="((", operand=_join(operand))

    def _command_part(self, text: str, *, is_quoted: bool) -> Part:
        # Every level is parsed again, so that deep nesting must be refused before.
        if text.count("$(") + text.count("`") > _MAX_SUBSTITUTIONS:
            raise ShellSyntaxError("nested too deeply")
        return Part("", is_variable=True, is_quoted=is_quoted, script=self._parse(text))

    def _read_backticks(self, *, is_quoted: bool) -> Part:
        end = _closing(self._text, self.position, "`")
        escapes = r"\\([$`\\\"])" if is_quoted else r"\\([$`\\])"
        inner = re.sub(escapes, r"\1", self._text[self.position + 1 : end])
        self.position = end + 1
        return self._command_part(inner, is_quoted=is_quoted)


def _closing(text: str, position: int, quote: str) -> int:
    end = text.find(quote, position + 1)
    # Within backticks, a backslash escapes them.
    while quote == "`" and end > 0 and text[end - 1] == "\\":
        end = text.find(quote, end + 1)
    if end < 0:
        raise IncompleteScriptError("unterminated quoted string")
    return end


def _arithmetic_end(text: str, position: int) -> int:
    """The position of the ``))`` that ends an expression; -1 without one, since ``$((a); (b))`` is a command."""
    depth = 0
    for index in range(position, len(text)):
        character = text[index]
        if character == ")" and not depth:
            return index if text.startswith("))", index) else -1
        depth += (character == "(") - (character == ")")
    return -1


def _closing_brace(text: str, position: int, *, has_quotes: bool) -> int:
    depth = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif has_quotes and character in "'\"":
            position = _closing(text, position, character)
        elif text.startswith("${", position):
            depth += 1
        elif character == "}":
            if not depth:
                return position
            depth -= 1
        position += 1
    raise IncompleteScriptError('unexpected end of file (expecting "}")')


def _closing_parenthesis(text: str, position: int) -> int:
    depth, quote = 1, ""
    while position < len(text):
        character = text[position]
        if character == "\\" and quote != "'":
            position += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character == "(") - (character == ")")
            if not depth:
                return position
        position += 1
    raise IncompleteScriptError('unexpected end of file (expecting ")")')


def _join(parts: list[Part]) -> Word:
    """Join literal parts that are next to each other."""
    # Quoted and plain parts stay apart: only plain ones may be keywords or assignments.
    groups = groupby(parts, key=lambda part: (part.is_variable, part.is_quoted))
    return tuple(
        part for (is_variable, _), group in groups for part in ((*group,) if is_variable else _merge((*group,)))
    )


def _merge(parts: tuple[Part, ...]) -> tuple[Part]:
    return (Part("".join(part.text for part in parts), is_quoted=parts[0].is_quoted),)
