"""The syntax of the built-in shell: text becomes a list of pipelines. Nothing here runs anything.

It has what short scripts need: quotes, variables, arithmetic, redirections, pipes, ``;``, ``&``, ``&&``, ``||``, ``!``
and assignments, and the compound commands ``if``, ``case``, ``while``, ``until``, ``for`` and ``{ }``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, TypeAlias

from masthead_server.kubelet.shell.nodes import (
    AndOr,
    Case,
    Command,
    CommandGroup,
    ForLoop,
    If,
    Part,
    Pipeline,
    Redirect,
    Script,
    SimpleCommand,
    WhileLoop,
    Word,
)

__all__ = ["ShellSyntaxError", "parse"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*|[?$#@*!0-9])|\{([A-Za-z_][A-Za-z0-9_]*|[?$#@*!0-9])\})")
_LENGTH: Final = re.compile(r"\$\{#([A-Za-z_][A-Za-z0-9_]*)\}")
_CHANGED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*|[0-9])(:?[-=+?]|##?|%%?)")
"""The start of an expansion that changes the value, such as ``${a:-b}`` and ``${a%.txt}``."""
_OPERATOR: Final = re.compile(r"2>&1|1>&2|>&2|[12]?>>|[12]?>|&>|<|\|\||&&|;;|;|\||&|\n|\(|\)")
_PLAIN: Final = re.compile(r"[^'\"\\$`\s<>|&;()]+|\\$")
"""Text without meaning for the shell, or a backslash at the end."""
_QUOTED: Final = re.compile(r"[^\"\\$`]+|\\")
"""Text without meaning within double quotes, or a backslash that has none."""
_REDIRECTS: Final = re.compile(r"2>&1|1>&2|>&2|&>|[12]?>>?|<")
_ENDS_WORD: Final = frozenset(" \t\r\n\f\v<>|&;()")
"""A digit before ``>`` is a part of the operator only where a word begins."""
_ENDS: Final = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_MAX_NESTED: Final = 50
_MAX_SUBSTITUTIONS: Final = 8
_MAX_TEST: Final = 6
"""Words of ``[[ ! a = b ]]``."""


class ShellSyntaxError(Exception):
    """A text is no command of the shell."""


Token: TypeAlias = str | Word


def parse(text: str) -> Script:
    """Parse a script.

    Raises:
        ShellSyntaxError: If it is invalid, or uses what this shell does not have.
    """
    parser = _Parser(_tokens(text))
    script = parser.script(frozenset())
    if parser.peek() is not None:
        raise _syntax_error(parser.peek())
    return script


def _tokens(text: str) -> list[Token]:
    """Split a text into operators, which are text, and words."""
    found: list[Token] = []
    position = 0
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
        # Before words: "2>" is an operator only where a word could begin.
        elif (operator := _OPERATOR.match(text, position)) is not None:
            found.append(operator[0])
            position = operator.end()
        else:
            word, position = _word(text, position)
            found.append(word)
    return found


def _word(text: str, position: int) -> tuple[Word, int]:
    parts: list[Part] = []
    while position < len(text):
        character = text[position]
        if character == "'":
            end = _closing(text, position, "'")
            parts.append(Part(text[position + 1 : end], is_quoted=True))
            position = end + 1
        elif character == '"':
            quoted, position = _double_quoted(text, position + 1)
            parts.extend(quoted)
        # A backslash at the very end is literal.
        elif character == "\\" and position + 1 < len(text):
            parts.append(Part(text[position + 1], is_quoted=True))
            position += 2
        elif character == "$":
            part, position = _variable(text, position, is_quoted=False)
            parts.append(part)
        elif character == "`":
            part, position = _backticks(text, position, is_quoted=False)
            parts.append(part)
        elif character in _ENDS_WORD:
            break
        elif (plain := _PLAIN.match(text, position)) is not None:
            parts.append(Part(plain[0]))
            position = plain.end()
        else:
            raise ShellSyntaxError(f"unexpected {character!r}")
    return _join(parts), position


def _double_quoted(text: str, position: int) -> tuple[list[Part], int]:
    parts = [Part("", is_quoted=True)]  # or an empty one would be no word
    while position < len(text):
        character = text[position]
        if character == '"':
            return parts, position + 1
        # Within double quotes, a backslash escapes these alone.
        if character == "\\" and text[position + 1 : position + 2] in {'"', "\\", "$", "`", "\n"}:
            escaped = text[position + 1]
            parts.append(Part("" if escaped == "\n" else escaped, is_quoted=True))
            position += 2
        elif character == "$":
            part, position = _variable(text, position, is_quoted=True)
            parts.append(part)
        elif character == "`":
            part, position = _backticks(text, position, is_quoted=True)
            parts.append(part)
        elif (plain := _QUOTED.match(text, position)) is not None:
            parts.append(Part(plain[0], is_quoted=True))
            position = plain.end()
        else:
            raise ShellSyntaxError(f"unexpected {character!r}")
    raise ShellSyntaxError("unterminated quoted string")


def _closing(text: str, position: int, quote: str) -> int:
    end = text.find(quote, position + 1)
    if end < 0:
        raise ShellSyntaxError("unterminated quoted string")
    return end


def _variable(text: str, position: int, *, is_quoted: bool) -> tuple[Part, int]:
    if text.startswith("$((", position) and (found_end := _arithmetic_end(text, position + 3)) >= 0:
        return _arithmetic(text[position + 3 : found_end], is_quoted=is_quoted), found_end + 2
    if text.startswith("$(", position):
        end = _closing_parenthesis(text, position + 2)
        return _command_part(text[position + 2 : end], is_quoted=is_quoted), end + 1
    found = _VARIABLE.match(text, position)
    if found is None:
        if text.startswith("${", position):
            return _changed_variable(text, position, is_quoted=is_quoted)
        # A dollar sign before anything else is text.
        return Part("$", is_quoted=is_quoted), position + 1
    return Part(found[1] or found[2], is_variable=True, is_quoted=is_quoted), found.end()


def _changed_variable(text: str, position: int, *, is_quoted: bool) -> tuple[Part, int]:
    if (length := _LENGTH.match(text, position)) is not None:
        return Part(length[1], is_variable=True, is_quoted=is_quoted, operator="#length"), length.end()
    found = _CHANGED.match(text, position)
    # All others are refused rather than misunderstood.
    if found is None:
        raise ShellSyntaxError("bad substitution")
    end = _closing_brace(text, found.end())
    operand = _quoted_parts(text[found.end() : end])
    part = Part(found[1], is_variable=True, is_quoted=is_quoted, operator=found[2], operand=operand)
    return part, end + 1


def _quoted_parts(text: str) -> Word:
    """A word within braces: variables and quotes count, blanks do not end it."""
    if text.count("${") + text.count("$(") > _MAX_SUBSTITUTIONS:
        raise ShellSyntaxError("nested too deeply")
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    if bare is not text and text[0] == "'":
        return (Part(bare, is_quoted=True),)
    parts, end = _double_quoted(f'{bare}"', 0)
    # Quotes in the middle are refused rather than misunderstood.
    if end <= len(bare):
        raise ShellSyntaxError("bad substitution")
    return _join(parts)


def _arithmetic_end(text: str, position: int) -> int:
    """The position of the ``))`` that ends an expression; -1 without one, since ``$((a); (b))`` is a command."""
    depth = 0
    for index in range(position, len(text)):
        character = text[index]
        if character == ")" and not depth:
            return index if text.startswith("))", index) else -1
        depth += (character == "(") - (character == ")")
    return -1


def _arithmetic(text: str, *, is_quoted: bool) -> Part:
    if text.count("$((") > _MAX_SUBSTITUTIONS:
        raise ShellSyntaxError("nested too deeply")
    operand, _ = _double_quoted(f'{text}"', 0)
    return Part("", is_variable=True, is_quoted=is_quoted, operator="((", operand=_join(operand))


def _closing_brace(text: str, position: int) -> int:
    depth = 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text.startswith("${", position):
            depth += 1
        elif text[position] == "}":
            if not depth:
                return position
            depth -= 1
        position += 1
    raise ShellSyntaxError('unexpected end of file (expecting "}")')


def _command_part(text: str, *, is_quoted: bool) -> Part:
    # Every level is parsed again, so that deep nesting must be refused before.
    if text.count("$(") + text.count("`") > _MAX_SUBSTITUTIONS:
        raise ShellSyntaxError("nested too deeply")
    return Part("", is_variable=True, is_quoted=is_quoted, script=parse(text))


def _backticks(text: str, position: int, *, is_quoted: bool) -> tuple[Part, int]:
    end = _closing(text, position, "`")
    return _command_part(text[position + 1 : end], is_quoted=is_quoted), end + 1


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
    raise ShellSyntaxError('unexpected end of file (expecting ")")')


def _join(parts: list[Part]) -> Word:
    """Join literal parts that are next to each other."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        # Quoted and plain parts stay apart: only plain ones may be keywords or assignments.
        if last and not part.is_variable and not last.is_variable and part.is_quoted == last.is_quoted:
            joined[-1] = Part(last.text + part.text, is_quoted=part.is_quoted)
        else:
            joined.append(part)
    return tuple(joined)


class _Parser:
    """Reads tokens from the left to the right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def peek(self) -> Token | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _next(self) -> Token | None:
        token = self.peek()
        self._position += 1
        return token

    def _keyword(self) -> str:
        """The next token, if it is a word without quotes or variables; otherwise empty."""
        token = self.peek()
        if isinstance(token, tuple) and len(token) == 1:
            part = token[0]
            return "" if part.is_variable or part.is_quoted else part.text
        return ""

    def _expect(self, keyword: str) -> None:
        if self._keyword() != keyword:
            raise _syntax_error(self.peek(), f' (expecting "{keyword}")')
        self._position += 1

    def script(self, ends: frozenset[str]) -> Script:
        """Read a list up to one of these keywords, a closing parenthesis, or the end."""
        self._depth += 1
        # The parser recurses, and a script comes from a client.
        if self._depth > _MAX_NESTED:
            raise ShellSyntaxError("nested too deeply")
        found: list[AndOr] = []
        while True:
            self._skip_lines()
            if self.peek() in {None, ")", ";;"} or self._keyword() in ends:
                break
            chain = self._and_or()
            found.append(replace(chain, is_background=True) if self.peek() == "&" else chain)
            if self.peek() not in {";", "&", "\n"}:
                break
            self._position += 1
        self._depth -= 1
        return tuple(found)

    def _and_or(self) -> AndOr:
        first, rest = self._pipeline(), list[tuple[str, Pipeline]]()
        while isinstance(operator := self.peek(), str) and operator in {"&&", "||"}:
            self._position += 1
            self._skip_lines()
            rest.append((operator, self._pipeline()))
        return AndOr(first, tuple(rest))

    def _skip_lines(self) -> None:
        while self.peek() == "\n":
            self._position += 1

    def _pipeline(self) -> Pipeline:
        # Only in front of a whole pipeline.
        is_negated = self._keyword() == "!"
        self._position += is_negated
        commands = [self._command()]
        while self.peek() == "|":
            self._position += 1
            self._skip_lines()
            commands.append(self._command())
        return Pipeline(tuple(commands), is_negated)

    def _command(self) -> Command:
        keyword = self._keyword()
        if self.peek() == "(" or keyword == "{":
            return self._group()
        if keyword == "if":
            return self._if()
        if keyword in {"while", "until"}:
            self._position += 1
            condition = self.script(frozenset({"do"}))
            return WhileLoop(condition, self._do(), keyword == "until", self._redirects())
        if keyword == "case":
            return self._case()
        if keyword == "for":
            return self._for()
        if keyword in _ENDS:
            raise _syntax_error(self.peek())
        return self._simple()

    def _group(self) -> CommandGroup:
        is_subshell = self._next() == "("
        body = self.script(frozenset() if is_subshell else frozenset({"}"}))
        if is_subshell and self._next() != ")":
            raise _syntax_error(None, ' (expecting ")")')
        if not is_subshell:
            self._expect("}")
        return CommandGroup(body, self._redirects(), is_subshell)

    def _redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while (redirect := self._redirect()) is not None:
            found.append(redirect)
        return tuple(found)

    def _case(self) -> Case:
        self._position += 1
        word = self._next()
        if not isinstance(word, tuple):
            raise _syntax_error(word)
        self._skip_lines()
        self._expect("in")
        branches: list[tuple[tuple[Word, ...], Script]] = []
        self._skip_lines()
        while self._keyword() != "esac":
            branches.append(self._branch())
            self._skip_lines()
        self._position += 1
        return Case(word, tuple(branches))

    def _branch(self) -> tuple[tuple[Word, ...], Script]:
        self._position += self.peek() == "("
        patterns: list[Word] = []
        while True:
            pattern, separator = self._next(), self._next()
            if not isinstance(pattern, tuple) or separator not in {"|", ")"}:
                raise _syntax_error(pattern if not isinstance(pattern, tuple) else separator)
            patterns.append(pattern)
            if separator == ")":
                break
        body = self.script(frozenset({"esac"}))
        self._position += self.peek() == ";;"
        return tuple(patterns), body

    def _if(self) -> If:
        branches: list[tuple[Script, Script]] = []
        while self._keyword() in {"if", "elif"}:
            self._position += 1
            condition = self.script(frozenset({"then"}))
            self._expect("then")
            branches.append((condition, self.script(frozenset({"elif", "else", "fi"}))))
        otherwise: Script = ()
        if self._keyword() == "else":
            self._position += 1
            otherwise = self.script(frozenset({"fi"}))
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _do(self) -> Script:
        self._expect("do")
        body = self.script(frozenset({"done"}))
        self._expect("done")
        return body

    def _for(self) -> ForLoop:
        self._position += 1
        name = self._keyword()
        if not _NAME.fullmatch(name):
            raise ShellSyntaxError("bad for loop variable")
        self._position += 1
        self._expect("in")
        words: list[Word] = []
        while isinstance(token := self.peek(), tuple):
            words.append(token)
            self._position += 1
        # The list of words ends with a line or a semicolon, and both may follow.
        while self.peek() in {";", "\n"}:
            self._position += 1
        return ForLoop(name, tuple(words), self._do(), self._redirects())

    def _simple(self) -> SimpleCommand:
        assignments, words, redirects = list[tuple[str, Word]](), list[Word](), list[Redirect]()
        while True:
            token = self.peek()
            if isinstance(token, tuple):
                self._position += 1
                # Behind the command, "a=b" is an argument.
                assigned = None if words else _assignment(token)
                if assigned is not None:
                    assignments.append(assigned)
                else:
                    words.append(token)
            elif (redirect := self._redirect()) is not None:
                redirects.append(redirect)
            else:
                break
        if not (assignments or words or redirects):
            raise _syntax_error(self.peek())
        command = SimpleCommand(tuple(assignments), tuple(words), tuple(redirects))
        # "&&" in a test would end this command, and "<" redirect it.
        if command.is_test:
            _check_test(command)
        return command

    def _redirect(self) -> Redirect | None:
        operator = self.peek()
        if not isinstance(operator, str) or not _REDIRECTS.fullmatch(operator):
            return None
        self._position += 1
        if operator in {"2>&1", "1>&2", ">&2"}:
            return Redirect(operator)
        target = self._next()
        if not isinstance(target, tuple):
            raise _syntax_error(target)
        return Redirect(operator, target)


def _check_test(command: SimpleCommand) -> None:
    """Refuse what ``[[ ]]`` has and ``[ ]`` has not: operators between tests, patterns, and redirections."""
    is_pattern = any(
        not part.is_quoted and not part.is_variable and set(part.text) & set("*?[")
        for word in command.words[1:-1]
        for part in word
    )
    if command.words[-1] != (Part("]]"),) or is_pattern or len(command.words) > _MAX_TEST:
        raise ShellSyntaxError("unsupported test")


def _assignment(word: Word) -> tuple[str, Word] | None:
    first = word[0]
    name, equals, rest = first.text.partition("=")
    # The name and the sign must be literal; the value may be anything.
    if first.is_variable or first.is_quoted or not equals or not _NAME.fullmatch(name):
        return None
    return name, (Part(rest), *word[1:])


def _syntax_error(token: Token | None, expecting: str = "") -> ShellSyntaxError:
    if token is None:
        return ShellSyntaxError(f"unexpected end of file{expecting}")
    if token == "\n":
        return ShellSyntaxError(f"unexpected newline{expecting}")
    shown = token if isinstance(token, str) else "".join(part.text for part in token)
    return ShellSyntaxError(f'unexpected "{shown}"{expecting}')
