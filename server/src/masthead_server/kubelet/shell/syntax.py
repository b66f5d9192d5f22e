"""The syntax of the built-in shell: text becomes a list of pipelines. Nothing here runs anything.

It has quotes, variables, arithmetic, redirections, here-documents, pipes, ``;``, ``&``, ``&&``, ``||``, ``!``,
assignments and functions, and the compound commands ``if``, ``case``, ``while``, ``until``, ``for``, ``( )`` and
``{ }``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final

from masthead_server.kubelet.shell.nodes import (
    AndOr,
    Case,
    Command,
    CommandGroup,
    Compound,
    ForLoop,
    FunctionDefinition,
    If,
    Part,
    Pipeline,
    Redirect,
    Script,
    SimpleCommand,
    WhileLoop,
    Word,
)
from masthead_server.kubelet.shell.tokens import (
    REDIRECTION,
    IncompleteScriptError,
    ShellSyntaxError,
    Token,
    Tokenizer,
    TokenList,
)

__all__ = ["KEYWORDS", "IncompleteScriptError", "ShellSyntaxError", "parse"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDS: Final = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_COMPOUNDS: Final = frozenset({"{", "if", "while", "until", "case", "for"})
KEYWORDS: Final = _ENDS | _COMPOUNDS | {"!", "in"}
_MAX_NESTED: Final = 50
_CACHED: Final = 64
"""Parsed scripts that are kept."""
_MAX_CACHED: Final = 4096
"""The characters of a script that is kept."""
_MAX_TEST: Final = 6
"""Words of ``[[ ! a = b ]]``."""


def parse(text: str, *, is_partial: bool = False) -> Script:
    """Parse a script.

    Args:
        text: The script.
        is_partial: Whether more lines may follow, so that a here-document needs its end.

    Raises:
        ShellSyntaxError: If it is invalid, or uses what this shell does not have.
    """
    # All containers of a workload run the same script, and scripts are immutable.
    if not is_partial and len(text) <= _MAX_CACHED:
        return _parse_cached(text)
    return _parse(text, is_partial=is_partial)


@lru_cache(maxsize=_CACHED)
def _parse_cached(text: str) -> Script:
    return _parse(text)


def _parse(text: str, *, is_partial: bool = False) -> Script:
    found = Tokenizer(text, _parse).run()
    if is_partial and not found.is_complete:
        raise IncompleteScriptError("unexpected end of file")
    parser = _Parser(found)
    script = parser.script(frozenset())
    if parser.peek() is not None:
        raise _syntax_error(parser.peek())
    return script


class _Parser:
    """Reads tokens from the left to the right."""

    def __init__(self, found: TokenList) -> None:
        self._tokens = found.tokens
        self._ends = found.ends
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
        self._enter()
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

    def _body(self, *ends: str) -> Script:
        """Read a list that must not be empty."""
        found = self.script(frozenset(ends))
        if not found:
            raise _syntax_error(self.peek())
        return found

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
        if self.peek() == "(" or self._keyword() in _COMPOUNDS:
            return self._compound()
        if self._keyword() in _ENDS:
            raise _syntax_error(self.peek())
        if self._tokens[self._position + 1 : self._position + 3] == ["(", ")"]:
            return self._function()
        return self._simple()

    def _function(self) -> FunctionDefinition:
        name = self._keyword()
        if not _NAME.fullmatch(name):
            raise ShellSyntaxError("bad function name")
        self._position += 3
        self._skip_lines()
        start = self._ends[self._position - 1]
        # Functions may nest like other commands.
        self._enter()
        body = self._compound()
        self._depth -= 1
        return FunctionDefinition(name, body, self._ends[self._position - 1] - start)

    def _compound(self) -> Compound:
        keyword = self._keyword()
        if self.peek() == "(" or keyword == "{":
            return self._group()
        if keyword == "if":
            return self._if()
        if keyword in {"while", "until"}:
            self._position += 1
            condition = self._body("do")
            return WhileLoop(condition, self._do(), keyword == "until", self._redirects())
        if keyword == "case":
            return self._case()
        if keyword == "for":
            return self._for()
        raise _syntax_error(self.peek())

    def _enter(self) -> None:
        self._depth += 1
        # The parser recurses, and a script comes from a client.
        if self._depth > _MAX_NESTED:
            raise ShellSyntaxError("nested too deeply")

    def _group(self) -> CommandGroup:
        is_subshell = self._next() == "("
        body = self._body(*(() if is_subshell else ("}",)))
        if is_subshell and (token := self._next()) != ")":
            raise _syntax_error(token, ' (expecting ")")')
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
        return Case(word, tuple(branches), self._redirects())

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
            condition = self._body("then")
            self._expect("then")
            branches.append((condition, self._body("elif", "else", "fi")))
        otherwise: Script = ()
        if self._keyword() == "else":
            self._position += 1
            otherwise = self._body("fi")
        self._expect("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _do(self) -> Script:
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return body

    def _for(self) -> ForLoop:
        self._position += 1
        name = self._keyword()
        if not _NAME.fullmatch(name):
            raise ShellSyntaxError("bad for loop variable")
        self._position += 1
        words = self._for_words()
        # The list of words ends with a line or a semicolon, and both may follow.
        while self.peek() in {";", "\n"}:
            self._position += 1
        return ForLoop(name, words, self._do(), self._redirects())

    def _for_words(self) -> tuple[Word, ...] | None:
        # "for x; do" has no words, and "in" may stand on the next line.
        if self.peek() == ";":
            return None
        self._skip_lines()
        if self._keyword() == "do":
            return None
        self._expect("in")
        words: list[Word] = []
        while isinstance(token := self.peek(), tuple):
            words.append(token)
            self._position += 1
        return tuple(words)

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
        if not isinstance(operator, str) or not REDIRECTION.fullmatch(operator):
            return None
        self._position += 1
        if "&" in operator[:-1] and operator != "&>":
            return Redirect(operator)
        target = self._next()
        if not isinstance(target, tuple):
            raise _syntax_error(target)
        return Redirect(operator.rstrip("-"), target)


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
        return IncompleteScriptError(f"unexpected end of file{expecting}")
    if token == "\n":
        return ShellSyntaxError(f"unexpected newline{expecting}")
    shown = token if isinstance(token, str) else "".join(part.text for part in token)
    return ShellSyntaxError(f'unexpected "{shown}"{expecting}')
