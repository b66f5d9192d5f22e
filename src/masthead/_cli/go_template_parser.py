"""The parser of Go templates. Pure."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from masthead._cli.go_format import GoInt
from masthead._cli.go_template_nodes import (
    Action,
    Branch,
    Chain,
    Command,
    Constant,
    Dot,
    FunctionCall,
    Jump,
    Nil,
    Pipeline,
    RangeLoop,
    TemplateCall,
    Text,
    Variable,
)
from masthead._cli.go_template_tokens import GoTemplateError, Kind, place, read_tokens, unquote

if TYPE_CHECKING:
    from collections.abc import Collection, Generator

    from masthead._cli.go_template_nodes import Body, Node, Operand
    from masthead._cli.go_template_tokens import Token

__all__ = ["MAIN", "parse_template"]

MAIN: Final = "output"
"""The name of the template itself, as in kubectl: ``{{template "output"}}`` calls it."""

_MAX_DEPTH: Final = 100
"""Levels of nested actions and parentheses."""
_MAX_DIGITS: Final = 400
_MAX_INT: Final = 2**63 - 1
_OCTAL: Final = re.compile(r"[+-]?0[0-7_]+")
_KEYWORDS: Final = frozenset(
    {"block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template", "with"}
)
_NAMES: Final = {
    Kind.RIGHT: "the end of the action",
    Kind.LEFT: "an action",
    Kind.END: "the end of the template",
    Kind.TEXT: "text",
}
_OPERANDS: Final = frozenset(
    {
        Kind.STRING,
        Kind.RAW,
        Kind.CHARACTER,
        Kind.NUMBER,
        Kind.VARIABLE,
        Kind.FIELD,
        Kind.DOT,
        Kind.IDENTIFIER,
        Kind.OPEN,
    }
)
_LITERALS: Final = (Constant, Dot, Nil)


def parse_template(template: str, functions: Collection[str]) -> dict[str, Body]:
    """Parse a template into the bodies of templates by name; its own is called `MAIN`.

    Args:
        template: The text.
        functions: The names of the functions.

    Raises:
        GoTemplateError: If it is invalid.
    """
    return _Parser(template, functions).parse()


class _Parser:
    """Reads tokens from left to right.

    Args:
        template: The text.
        functions: The names of the functions.
    """

    def __init__(self, template: str, functions: Collection[str]) -> None:
        self._template = template
        self._functions = functions
        # Before anything is parsed, so that errors of tokens come first.
        self._tokens = list(read_tokens(template))
        self._next = 0
        self._scopes: list[set[str]] = [{"$"}]
        self._loops = 0
        self._depth = 0
        self._templates: dict[str, Body] = {}

    def parse(self) -> dict[str, Body]:
        """Parse everything."""
        nodes: list[Node] = []
        while self._peek().kind is not Kind.END:
            # Templates are defined at the top only, as in Go.
            if self._at_keyword("define"):
                self._define()
                continue
            nodes += self._text_or_action()
        self._add(MAIN, tuple(nodes), self._peek().at)
        return self._templates

    def _peek(self, ahead: int = 0) -> Token:
        # The last token is END, and is never passed.
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._peek()
        self._next += 1
        return token

    def _at_keyword(self, *words: str) -> bool:
        token = self._peek(1)
        return self._peek().kind is Kind.LEFT and token.kind is Kind.IDENTIFIER and token.text in words

    def _error(self, problem: str, at: int) -> GoTemplateError:
        return GoTemplateError(f"{place(self._template, at)}: {problem}")

    def _unexpected(self, token: Token, where: str) -> GoTemplateError:
        return self._error(f"unexpected {_NAMES.get(token.kind, token.text)} in {where}", token.at)

    def _expect(self, kind: Kind, where: str) -> Token:
        token = self._take()
        if token.kind is not kind:
            raise self._unexpected(token, where)
        return token

    @contextmanager
    def _deeper(self) -> Generator[None]:
        """Count a level, whose variables end with it."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"nested more than {_MAX_DEPTH} levels deep", self._peek().at)
        self._scopes.append(set())
        yield
        self._scopes.pop()
        self._depth -= 1

    def _add(self, name: str, body: Body, at: int) -> None:
        # An empty definition, such as that of a file of definitions, replaces nothing.
        if not _is_empty(self._templates.get(name, ())):
            if not _is_empty(body):
                raise self._error(f'the template "{name}" is defined twice', at)
            return
        self._templates[name] = body

    def _define(self) -> None:
        start = self._take().at
        self._take()
        name = self._template_name("define")
        self._expect(Kind.RIGHT, "define")
        self._add(name, self._own_body("define"), start)

    def _own_body(self, where: str) -> Body:
        """The body of a defined template, up to its end: without the variables and loops around it."""
        # Its caller decides about the data, so that nothing of its surroundings is known to it.
        scopes, loops = self._scopes, self._loops
        self._scopes, self._loops = [{"$"}], 0
        with self._deeper():
            body = self._body()
        # Only end and else end a body.
        if not self._at_keyword("end"):
            raise self._error(f"unexpected else in {where}", self._peek().at)
        self._end()
        self._scopes, self._loops = scopes, loops
        return body

    def _template_name(self, where: str) -> str:
        token = self._take()
        if token.kind not in {Kind.STRING, Kind.RAW}:
            raise self._unexpected(token, where)
        return unquote(token, self._template)

    def _body(self) -> Body:
        """Text and actions up to ``end`` or ``else``, which are not taken."""
        nodes: list[Node] = []
        while not self._at_keyword("end", "else"):
            if self._peek().kind is Kind.END:
                raise self._error("an end is missing", self._peek().at)
            nodes += self._text_or_action()
        return tuple(nodes)

    def _end(self) -> None:
        self._take()
        self._take()
        self._expect(Kind.RIGHT, "end")

    def _text_or_action(self) -> list[Node]:
        token = self._take()
        if token.kind is Kind.TEXT:
            return [Text(token.text)]
        word = self._peek()
        match word.text if word.kind is Kind.IDENTIFIER else "":
            case "if" | "with" as name:
                return [self._branch(name)]
            case "range":
                return [self._range()]
            case "break" | "continue" as name:
                return [self._jump(name)]
            case "template":
                return [self._template_call()]
            case "block":
                return [self._block()]
            case "end" | "else" | "define" as name:
                raise self._error(f"unexpected {name}", word.at)
            case _:
                return [Action(self._pipeline("an action", Kind.RIGHT))]

    def _branch(self, name: str) -> Branch:
        clauses: list[tuple[Pipeline, Body]] = []
        otherwise: Body = ()
        with self._deeper():
            self._take()
            clauses.append((self._pipeline(name, Kind.RIGHT), self._body()))
            while self._at_keyword("else") and not otherwise:
                self._take()
                self._take()
                # A chain of "else if" is one branch, so that its length is not its depth.
                if self._peek().kind is Kind.IDENTIFIER and self._peek().text == name:
                    self._take()
                    clauses.append((self._pipeline(name, Kind.RIGHT), self._body()))
                    continue
                self._expect(Kind.RIGHT, "else")
                otherwise = self._body()
                break
        self._expect_end()
        return Branch(tuple(clauses), otherwise, sets_dot=name == "with")

    def _expect_end(self) -> None:
        if not self._at_keyword("end"):
            raise self._error("expected end", self._peek().at)
        self._end()

    def _range(self) -> RangeLoop:
        otherwise: Body = ()
        with self._deeper():
            self._take()
            pipeline = self._pipeline("range", Kind.RIGHT)
            # A break in the pipeline would be outside.
            self._loops += 1
            body = self._body()
            self._loops -= 1
            if self._at_keyword("else"):
                self._take()
                self._take()
                self._expect(Kind.RIGHT, "else")
                otherwise = self._body()
        self._expect_end()
        return RangeLoop(pipeline, body, otherwise)

    def _jump(self, name: str) -> Jump:
        token = self._take()
        self._expect(Kind.RIGHT, name)
        if not self._loops:
            raise self._error(f"{name} outside of range", token.at)
        return Jump(name == "break")

    def _template_call(self) -> TemplateCall:
        at = self._take().at
        name = self._template_name("template")
        if self._peek().kind is Kind.RIGHT:
            self._take()
            return TemplateCall(name, None, at)
        return TemplateCall(name, self._pipeline("template", Kind.RIGHT), at)

    def _block(self) -> TemplateCall:
        at = self._take().at
        name = self._template_name("block")
        pipeline = self._pipeline("block", Kind.RIGHT)
        self._add(name, self._own_body("block"), at)
        return TemplateCall(name, pipeline, at)

    def _pipeline(self, where: str, end: Kind) -> Pipeline:
        at = self._peek().at
        variables, is_assignment = self._declarations(where)
        commands: list[Command] = []
        while self._peek().kind is not end:
            if self._peek().kind not in _OPERANDS:
                raise self._unexpected(self._take(), where)
            commands.append(self._command())
        self._take()
        if not commands:
            raise self._error(f"a value is missing in {where}", at)
        # Results are handed on as arguments, which literals do not take.
        for command in commands[1:]:
            if isinstance(command.operands[0], _LITERALS):
                raise self._error("a literal cannot get the result of a pipeline", command.at)
        return Pipeline(tuple(commands), variables, is_assignment, at)

    def _declarations(self, where: str) -> tuple[tuple[str, ...], bool]:
        """The variables of ``$x :=``, ``$x =`` and ``range $i, $x :=``."""
        variables: list[str] = []
        while self._peek().kind is Kind.VARIABLE:
            follows = self._peek(1).kind
            if follows not in {Kind.DECLARE, Kind.ASSIGN, Kind.COMMA}:
                break
            variables.append(self._take().text)
            # Before its value is parsed, as in Go: a variable may be used in its own declaration.
            self._scopes[-1].add(variables[-1])
            separator = self._take()
            if separator.kind is not Kind.COMMA:
                return tuple(variables), separator.kind is Kind.ASSIGN
            # Only loops have a second variable: an index or a key.
            if where != "range" or len(variables) > 1:
                raise self._error(f"too many variables in {where}", separator.at)
            if self._peek().kind not in {Kind.VARIABLE, Kind.RIGHT, Kind.CLOSE}:
                raise self._error("range sets variables only", self._peek().at)
        return tuple(variables), False

    def _command(self) -> Command:
        at = self._peek().at
        operands: list[Operand] = []
        while True:
            operands.append(self._operand())
            token = self._peek()
            if token.kind in {Kind.RIGHT, Kind.CLOSE}:
                return Command(tuple(operands), at)
            if token.kind is Kind.PIPE:
                self._take()
                return Command(tuple(operands), at)
            # Operands are separated by blanks.
            if token.kind not in _OPERANDS or not token.after_space:
                raise self._unexpected(token, "an operand")

    def _operand(self) -> Operand:
        first = self._peek()
        term = self._term()
        fields: list[str] = []
        while self._peek().kind is Kind.FIELD and not self._peek().after_space:
            fields.append(self._take().text[1:])
        # A chain without fields is the term itself.
        if not fields:
            return term
        if isinstance(term, _LITERALS):
            raise self._error(f"unexpected . after {first.text}", first.at)
        # Further fields of a chain belong to it: one lookup, one error.
        if isinstance(term, Chain):
            return Chain(term.base, (*term.fields, *fields))
        return Chain(term, tuple(fields))

    def _term(self) -> Operand:
        token = self._take()
        match token.kind:
            case Kind.IDENTIFIER:
                return self._word(token)
            case Kind.DOT:
                return Dot()
            case Kind.FIELD:
                return Chain(Dot(), (token.text[1:],))
            case Kind.VARIABLE:
                if not any(token.text in scope for scope in self._scopes):
                    raise self._error(f"the variable {token.text} is not set", token.at)
                return Variable(token.text)
            case Kind.NUMBER:
                return Constant(self._number(token))
            case Kind.CHARACTER:
                value = unquote(token, self._template)
                if len(value) != 1:
                    raise self._error(f"{token.text} is not one character", token.at)
                return Constant(GoInt(ord(value)))
            case Kind.STRING | Kind.RAW:
                return Constant(unquote(token, self._template))
            case _:
                with self._deeper_parentheses():
                    return self._pipeline("parentheses", Kind.CLOSE)

    @contextmanager
    def _deeper_parentheses(self) -> Generator[None]:
        """Count a level, whose variables stay."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"nested more than {_MAX_DEPTH} levels deep", self._peek().at)
        yield
        self._depth -= 1

    def _word(self, token: Token) -> Operand:
        if token.text in {"true", "false"}:
            return Constant(token.text == "true")
        if token.text == "nil":
            return Nil()
        if token.text in _KEYWORDS:
            raise self._unexpected(token, "an operand")
        # Misspelt functions are found before anything is sent.
        if token.text not in self._functions:
            raise self._error(f"there is no function {token.text}", token.at)
        return FunctionCall(token.text)

    def _number(self, token: Token) -> object:
        text = token.text
        if len(text) > _MAX_DIGITS:
            raise self._error(f"a number has more than {_MAX_DIGITS} digits", token.at)
        try:
            is_hex = text.lstrip("+-").lower().startswith("0x")
            if set(text) & set("pP" if is_hex else ".eE"):
                value = float.fromhex(text) if is_hex else float(text)
                if abs(value) != float("inf"):
                    return value
            else:
                number = int(text, 8 if _OCTAL.fullmatch(text) else 0)
                if -_MAX_INT - 1 <= number <= _MAX_INT:
                    return GoInt(number)
        except (ValueError, OverflowError):
            raise self._error(f"{text} is not a number", token.at) from None
        raise self._error(f"{text} is too large a number", token.at)


def _is_empty(body: Body) -> bool:
    return all(isinstance(node, Text) and not node.text.strip() for node in body)
