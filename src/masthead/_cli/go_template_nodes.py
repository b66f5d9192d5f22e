"""The nodes of parsed Go templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "Action",
    "Branch",
    "FunctionCall",
    "Chain",
    "Command",
    "Constant",
    "Dot",
    "Jump",
    "Nil",
    "Node",
    "Operand",
    "Pipeline",
    "RangeLoop",
    "TemplateCall",
    "Text",
    "Variable",
]


@dataclass(frozen=True, slots=True)
class Dot:
    """The current value, ``.``."""


@dataclass(frozen=True, slots=True)
class Nil:
    """The word ``nil``."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A string, a number or a boolean."""

    value: object


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, with its dollar sign."""

    name: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Fields of a value: ``.a.b`` of the current one, ``$x.a`` of a variable, ``(index . 0).a`` of a pipeline.

    Attributes:
        base: The value.
        fields: The names of the fields.
    """

    base: Operand
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """An operand, or a function with its arguments."""

    operands: tuple[Operand, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands, each of which gets the result of the one before it, and the variables that get the last result.

    Attributes:
        commands: The commands.
        variables: The variables.
        is_assignment: Whether the variables exist already (``=`` rather than ``:=``).
        at: Where it begins.
    """

    commands: tuple[Command, ...]
    variables: tuple[str, ...]
    is_assignment: bool
    at: int


Operand: TypeAlias = "Dot | Nil | Constant | FunctionCall | Variable | Chain | Pipeline"


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """A pipeline, whose value is printed unless it sets variables."""

    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """``if`` or ``with``, and their ``else if`` or ``else with``.

    Attributes:
        clauses: The conditions with their bodies.
        otherwise: The body of ``else``.
        sets_dot: Whether it is ``with``.
    """

    clauses: tuple[tuple[Pipeline, Body], ...]
    otherwise: Body
    sets_dot: bool


@dataclass(frozen=True, slots=True)
class RangeLoop:
    """``range``."""

    pipeline: Pipeline
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Jump:
    """``break`` or ``continue``."""

    is_break: bool


@dataclass(frozen=True, slots=True)
class TemplateCall:
    """``template`` or ``block``."""

    name: str
    pipeline: Pipeline | None
    at: int


Node: TypeAlias = "Text | Action | Branch | RangeLoop | Jump | TemplateCall"
Body: TypeAlias = "tuple[Node, ...]"
