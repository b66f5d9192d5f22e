"""The syntax of the built-in shell: text becomes a list of pipelines. Nothing here runs anything.

It has what one-line commands need: quotes, variables, redirections, pipes, ``;``, ``&&``, ``||``, ``!`` and
assignments, and the compound commands ``if``, ``while``, ``until``, ``for`` and ``{ }``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AndOr",
    "Command",
    "CommandGroup",
    "ForLoop",
    "If",
    "Part",
    "Pipeline",
    "Redirect",
    "Script",
    "ShellSyntaxError",
    "SimpleCommand",
    "WhileLoop",
    "Word",
    "command_names",
    "parse",
]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE: Final = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*|[?$#@*0-9])|\{([A-Za-z_][A-Za-z0-9_]*|[?$#@*0-9])\})")
_OPERATOR: Final = re.compile(r"2>&1|1>&2|>&2|[12]?>>|[12]?>|&>|<|\|\||&&|;|\||&|\n|\(|\)")
_PLAIN: Final = re.compile(r"[^'\"\\$`\s<>|&;()]+|\\$")
"""Text without meaning for the shell, or a backslash at the end."""
_QUOTED: Final = re.compile(r"[^\"\\$`]+|\\")
"""Text without meaning within double quotes, or a backslash that has none."""
_REDIRECTS: Final = re.compile(r"2>&1|1>&2|>&2|&>|[12]?>>?|<")
_ENDS_WORD: Final = frozenset(" \t\r\n\f\v<>|&;()")
"""A digit before ``>`` is a part of the operator only where a word begins."""
_ENDS: Final = frozenset({"then", "else", "elif", "fi", "do", "done", "}"})
_MAX_NESTED: Final = 50
_MAX_SUBSTITUTIONS: Final = 8


class ShellSyntaxError(Exception):
    """A text is no command of the shell."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a word.

    Attributes:
        text: The text, or the name of a variable.
        is_variable: Whether it is a variable.
        is_quoted: Whether it is quoted, so that its value is not split at blanks.
    """

    text: str
    is_variable: bool = False
    is_quoted: bool = False
    script: Script | None = None
    """The commands whose output is the value, for ``$(…)``."""
    value: str | None = None
    """The output of these commands, once they have run."""


Word: TypeAlias = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection: ``<``, ``>``, ``>>``, ``2>``, ``2>>``, ``2>&1``, ``>&2`` or ``&>``, and the file."""

    operator: str
    target: Word = ()


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """Assignments, a command with its arguments, and redirections."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """``{ list; }``, or a list in parentheses, which changes nothing outside."""

    body: Script
    redirects: tuple[Redirect, ...] = ()
    is_subshell: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """``if … then … elif … else … fi``: conditions with their bodies, and what else to do."""

    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script = ()


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """``while`` or ``until … do … done``."""

    condition: Script
    body: Script
    is_until: bool = False


@dataclass(frozen=True, slots=True)
class ForLoop:
    """``for name in words; do … done``."""

    name: str
    words: tuple[Word, ...]
    body: Script


Command: TypeAlias = SimpleCommand | CommandGroup | If | WhileLoop | ForLoop


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands that run concurrently, each reading the output of the previous one."""

    commands: tuple[Command, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines, each but the first with ``&&`` or ``||`` before it."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...] = ()


Script: TypeAlias = tuple[AndOr, ...]
Token: TypeAlias = str | Word


def parse(text: str) -> Script:
    """Parse a script.

    Raises:
        ShellSyntaxError: If it is invalid, or uses what this shell does not have.
    """
    parser = _Parser(_tokens(text))
    script = parser.script(frozenset())
    if parser.peek() is not None:
        raise _unexpected(parser.peek())
    return script


def command_names(script: Script) -> Iterator[str]:
    """Iterate over the names of all commands of a script; a name that begins with a variable is empty."""
    for chain in script:
        for pipeline in (chain.first, *(pipeline for _, pipeline in chain.rest)):
            for command in pipeline.commands:
                yield from _names(command)


def _names(command: Command) -> Iterator[str]:
    if isinstance(command, SimpleCommand):
        values = [*command.words, *(word for _, word in command.assignments)]
        for script in (part.script for word in values for part in word if part.script is not None):
            yield from command_names(script)
        for word in command.words:
            name = "" if any(part.is_variable for part in word) else "".join(part.text for part in word)
            yield name
            # Builtins that run another command: that one must be known, too.
            if name not in {"command", "exec"}:
                break
    elif isinstance(command, If):
        for condition, body in command.branches:
            yield from command_names(condition)
            yield from command_names(body)
        yield from command_names(command.otherwise)
    elif isinstance(command, WhileLoop):
        yield from command_names(command.condition)
        yield from command_names(command.body)
    else:
        words = command.words if isinstance(command, ForLoop) else ()
        for script in (part.script for word in words for part in word if part.script is not None):
            yield from command_names(script)
        yield from command_names(command.body)


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
    if text.startswith("$((", position):
        raise ShellSyntaxError("arithmetic is not a part of this shell")
    if text.startswith("$(", position):
        end = _closing_parenthesis(text, position + 2)
        return _command_part(text[position + 2 : end], is_quoted=is_quoted), end + 1
    found = _VARIABLE.match(text, position)
    if found is None:
        # Expansions such as ${a:-b} are refused rather than misunderstood.
        if text.startswith("${", position):
            raise ShellSyntaxError("bad substitution")
        # A dollar sign before anything else is text.
        return Part("$", is_quoted=is_quoted), position + 1
    return Part(found[1] or found[2], is_variable=True, is_quoted=is_quoted), found.end()


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
            raise _unexpected(self.peek(), f' (expecting "{keyword}")')
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
            if self.peek() is None or self.peek() == ")" or self._keyword() in ends:
                break
            found.append(self._and_or())
            if self.peek() not in {";", "\n"}:
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
            return WhileLoop(condition, self._do(), keyword == "until")
        if keyword == "for":
            return self._for()
        if keyword in _ENDS:
            raise _unexpected(self.peek())
        return self._simple()

    def _group(self) -> CommandGroup:
        is_subshell = self._next() == "("
        body = self.script(frozenset() if is_subshell else frozenset({"}"}))
        if is_subshell and self._next() != ")":
            raise _unexpected(None, ' (expecting ")")')
        if not is_subshell:
            self._expect("}")
        redirects: list[Redirect] = []
        while (redirect := self._redirect()) is not None:
            redirects.append(redirect)
        return CommandGroup(body, tuple(redirects), is_subshell)

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
        return ForLoop(name, tuple(words), self._do())

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
            raise _unexpected(self.peek())
        return SimpleCommand(tuple(assignments), tuple(words), tuple(redirects))

    def _redirect(self) -> Redirect | None:
        operator = self.peek()
        if not isinstance(operator, str) or not _REDIRECTS.fullmatch(operator):
            return None
        self._position += 1
        if operator in {"2>&1", "1>&2", ">&2"}:
            return Redirect(operator)
        target = self._next()
        if not isinstance(target, tuple):
            raise _unexpected(target)
        return Redirect(operator, target)


def _assignment(word: Word) -> tuple[str, Word] | None:
    first = word[0]
    name, equals, rest = first.text.partition("=")
    # The name and the sign must be literal; the value may be anything.
    if first.is_variable or first.is_quoted or not equals or not _NAME.fullmatch(name):
        return None
    return name, (Part(rest), *word[1:])


def _unexpected(token: Token | None, expecting: str = "") -> ShellSyntaxError:
    if token is None:
        return ShellSyntaxError(f"unexpected end of file{expecting}")
    if token == "\n":
        return ShellSyntaxError(f"unexpected newline{expecting}")
    shown = token if isinstance(token, str) else "".join(part.text for part in token)
    return ShellSyntaxError(f'unexpected "{shown}"{expecting}')
