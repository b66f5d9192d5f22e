r"""Templates as ``kubectl -o go-template=`` has them: those of Go's package text/template. Pure.

::

    {{range .items}}{{.metadata.name}}{{"\t"}}{{.status.phase}}{{"\n"}}{{end}}

Templates find and print what they do in Go. They are bounded: a template that takes too many steps, prints too much or
calls itself too often fails. Complex numbers and ``call`` are left out: JSON has neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from masthead._cli.go_format import FormatLimitError, GoInt, format_value, type_name
from masthead._cli.go_template_functions import FUNCTIONS, MISSING, SHORT_CIRCUIT, is_true
from masthead._cli.go_template_nodes import (
    Action,
    Branch,
    Chain,
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
from masthead._cli.go_template_parser import MAIN, parse_template
from masthead._cli.go_template_tokens import GoTemplateError, place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._cli.go_template_nodes import Body, Command, Node, Operand

__all__ = ["GoTemplate", "GoTemplateError"]

_MAX_STEPS: Final = 5_000_000
"""Nodes that a template may evaluate: a million objects with some fields of each, and only seconds."""
_MAX_CHARACTERS: Final = 200_000_000
_MAX_DEPTH: Final = 100
"""Levels of actions and templates within each other."""
_NOTHING: Final = object()
"""No result of a previous command."""


class _PlacedError(GoTemplateError):
    """An error with its position."""


class _Break(Exception):  # noqa: N818 - no error
    """Ends a range."""


class _Continue(Exception):  # noqa: N818 - no error
    """Ends an iteration."""


@dataclass(frozen=True, slots=True)
class GoTemplate:
    """A parsed template."""

    _text: str
    _bodies: dict[str, Body]
    _allows_missing: bool

    @classmethod
    def parse(cls, text: str, *, allows_missing: bool = True) -> GoTemplate:
        """Parse a template.

        Args:
            text: The template.
            allows_missing: Whether fields that do not exist print ``<no value>`` instead of being an error.

        Raises:
            GoTemplateError: If it is invalid; the message has the position.
        """
        return cls(text, parse_template(text, FUNCTIONS), allows_missing)

    def render(self, obj: object) -> str:
        """Return the text for plain data.

        Raises:
            GoTemplateError: If it does not fit the data, or does too much.
        """
        run = _Run(self._text, self._bodies, allows_missing=self._allows_missing)
        try:
            run.run(MAIN, obj)
        except RecursionError:
            raise GoTemplateError("nested too deeply") from None
        return "".join(run.output)


class _Run:
    """One execution.

    Args:
        text: The template.
        bodies: The bodies of all templates.
        allows_missing: Whether fields may be missing.
    """

    def __init__(self, text: str, bodies: dict[str, Body], *, allows_missing: bool) -> None:
        self.output: list[str] = []
        self._text = text
        self._bodies = bodies
        self._allows_missing = allows_missing
        self._variables: list[tuple[str, object]] = []
        self._steps = 0
        self._characters = 0
        self._depth = 0
        self._at = 0

    def run(self, name: str, dot: object) -> None:
        """Execute a template, with new variables."""
        outer, self._variables = self._variables, [("$", dot)]
        self._walk(self._bodies[name], dot)
        self._variables = outer

    def _error(self, problem: str) -> GoTemplateError:
        return _PlacedError(f"{place(self._text, self._at)}: {problem}")

    def _count(self, characters: int) -> None:
        self._characters += characters
        if self._characters > _MAX_CHARACTERS:
            raise self._error(f"the template makes more than {_MAX_CHARACTERS:,} characters")

    def _put(self, text: str) -> None:
        self._count(len(text))
        self.output.append(text)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise self._error(f"the template takes more than {_MAX_STEPS:,} steps")

    def _walk(self, body: Body, dot: object) -> None:
        # Templates that call themselves end here, long before the stack of Python does.
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"nested more than {_MAX_DEPTH} levels deep")
        for node in body:
            self._step()
            self._node(node, dot)
        self._depth -= 1

    def _node(self, node: Node, dot: object) -> None:
        match node:
            case Text(text):
                self._put(text)
            case Action(pipeline):
                value = self._pipeline(pipeline, dot)
                # An action that sets variables prints nothing.
                if not pipeline.variables:
                    self._put("<no value>" if value is MISSING else self._shown(value))
            case Branch():
                self._branch(node, dot)
            case RangeLoop():
                self._range(node, dot)
            case Jump(is_break):
                raise _Break if is_break else _Continue
            case TemplateCall():
                self._call_template(node, dot)

    def _shown(self, value: object) -> str:
        try:
            return format_value(value)
        except FormatLimitError as error:
            raise self._error(str(error)) from None

    def _branch(self, node: Branch, dot: object) -> None:
        declared = len(self._variables)
        for condition, body in node.clauses:
            value = self._pipeline(condition, dot)
            if is_true(value):
                self._walk(body, value if node.sets_dot else dot)
                break
        else:
            self._walk(node.otherwise, dot)
        del self._variables[declared:]

    def _call_template(self, node: TemplateCall, dot: object) -> None:
        self._at = node.at
        if node.name not in self._bodies:
            raise self._error(f'there is no template "{node.name}"')
        value = MISSING if node.pipeline is None else self._pipeline(node.pipeline, dot)
        self.run(node.name, value)

    def _range(self, node: RangeLoop, dot: object) -> None:
        declared = len(self._variables)
        value = self._pipeline(node.pipeline, dot)
        # Each iteration begins without the variables of the one before it.
        mark, depth = len(self._variables), self._depth
        is_empty = True
        try:
            for key, element in self._elements(value, node.pipeline):
                is_empty = False
                self._step()
                self._set_loop_variables(node.pipeline, key, element)
                try:
                    self._walk(node.body, element)
                # It may have left several levels.
                except _Continue:
                    self._depth = depth
                del self._variables[mark:]
        except _Break:
            self._depth = depth
        if is_empty:
            self._walk(node.otherwise, dot)
        del self._variables[declared:]

    def _elements(self, value: object, pipeline: Pipeline) -> Iterable[tuple[object, object]]:
        match value:
            case None:
                return ()
            case list():
                return ((GoInt(at), element) for at, element in enumerate(cast("list[object]", value)))
            case dict():
                fields = cast("dict[str, object]", value)
                # They are sorted even if the first iteration ends the loop.
                self._count(len(fields))
                return ((key, fields[key]) for key in sorted(fields))
            case int() if not isinstance(value, bool):
                if len(pipeline.variables) > 1:
                    raise self._error(f"a range over {value} has one variable")
                return ((MISSING, type(value)(number)) for number in range(value))
            case _ if value is MISSING:
                return ()
            case _:
                raise self._error(f"range can't iterate over {self._shown(value)}")

    def _set_loop_variables(self, pipeline: Pipeline, key: object, element: object) -> None:
        if not pipeline.variables:
            return
        # With one variable, it is the element.
        values = (key, element) if len(pipeline.variables) > 1 else (element,)
        for at, (name, value) in enumerate(zip(pipeline.variables, values, strict=True)):
            if pipeline.is_assignment:
                self._assign(name, value)
            else:
                # The pipeline has declared them, as the last ones.
                self._variables[at - len(values)] = (name, value)

    def _assign(self, name: str, value: object) -> None:
        self._variables[self._find(name)] = (name, value)

    def _find(self, name: str) -> int:
        """The index of the last declared variable of a name."""
        for at in range(len(self._variables) - 1, -1, -1):
            if self._variables[at][0] == name:
                # A search among many variables is more than a step.
                self._steps += (len(self._variables) - at) // 10
                return at
        raise self._error(f"the variable {name} is not set")

    def _pipeline(self, pipeline: Pipeline, dot: object) -> object:
        self._at = pipeline.at
        value: object = _NOTHING
        for command in pipeline.commands:
            self._step()
            value = self._command(command, dot, value)
            # Go forgets that the data has null there.
            value = MISSING if value is None else value
        for name in pipeline.variables:
            if pipeline.is_assignment:
                self._assign(name, value)
            else:
                self._variables.append((name, value))
        return value

    def _command(self, command: Command, dot: object, previous: object) -> object:
        self._at = command.at
        # Only functions take arguments, and results of earlier commands.
        first, *arguments = command.operands
        match first:
            case FunctionCall(name):
                return self._call(name, arguments, dot, previous)
            case Nil():
                raise self._error("nil is not a command")
            case _ if arguments or previous is not _NOTHING:
                raise self._error("an argument is given to what is not a function")
            case _:
                return self._operand(first, dot)

    def _operand(self, operand: Operand, dot: object) -> object:
        self._step()
        match operand:
            case Dot():
                return dot
            case Constant(value):
                return value
            case Nil():
                return None
            case Variable(name):
                return self._variables[self._find(name)][1]
            case Chain(base, fields):
                value = self._operand(base, dot)
                for field in fields:
                    value = self._field(value, field)
                return value
            case FunctionCall(name):
                return self._call(name, [], dot, _NOTHING)
            case Pipeline():
                return self._pipeline(operand, dot)

    def _field(self, value: object, field: str) -> object:
        # Fields of a missing field are missing, too.
        if value is MISSING:
            if not self._allows_missing:
                raise self._error(f'nil data; no entry for key "{field}"')
            return MISSING
        if value is None:
            raise self._error(f"nil pointer evaluating interface {{}}.{field}")
        if not isinstance(value, dict):
            raise self._error(f"can't evaluate field {field} in type {type_name(value)}")
        found = cast("dict[str, object]", value).get(field, MISSING)
        if found is MISSING and not self._allows_missing:
            raise self._error(f'map has no entry for key "{field}"')
        return found

    def _call(self, name: str, operands: list[Operand], dot: object, previous: object) -> object:
        # Arguments may be calls, whose errors have places of their own.
        at = self._at
        count = len(operands) + (previous is not _NOTHING)
        function, least, greatest = FUNCTIONS[name]
        if count < least or (greatest is not None and count > greatest):
            wanted = f"{least}" if greatest == least else f"at least {least}"
            raise self._error(f"wrong number of args for {name}: want {wanted} got {count}")
        # Their arguments are evaluated one by one: the rest may be errors.
        if name in SHORT_CIRCUIT:
            return self._choose(operands, dot, previous, until=name == "or")
        arguments = [self._operand(operand, dot) for operand in operands]
        if previous is not _NOTHING:
            arguments.append(previous)
        self._at = at
        # Functions read their texts from end to end.
        self._count(sum(len(argument) for argument in arguments if isinstance(argument, str)))
        try:
            value = function(self._count, *arguments)
        except _PlacedError:  # a limit
            raise
        except (GoTemplateError, FormatLimitError) as error:
            raise self._error(f"error calling {name}: {error}") from None
        if isinstance(value, str):
            self._count(len(value))
        return value

    def _choose(self, operands: list[Operand], dot: object, previous: object, *, until: bool) -> object:
        """The first argument that decides ``and`` or ``or``, else the last one."""
        value: object = MISSING
        for operand in operands:
            value = self._operand(operand, dot)
            if is_true(value) == until:
                return value
        return value if previous is _NOTHING else previous
