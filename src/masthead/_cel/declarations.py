"""Declarations: which functions there are, for which types, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from masthead._cel.values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._cel.types import Type

__all__ = ["Function", "Overload", "function", "merge", "method", "overload"]


Implementation: TypeAlias = (
    Callable[[], Value]
    | Callable[[Value], Value]
    | Callable[[Value, Value], Value]
    | Callable[[Value, Value, Value], Value]
    | Callable[[Value, Value, Value, Value], Value]
)
"""What a function does with its arguments; raises `EvaluationError` or `CostError`."""


class Overload(NamedTuple):
    """A function for arguments of certain types.

    Attributes:
        id: The name that the checker, and the cost of it, know it by.
        args: The types of the arguments, a method's target first.
        result: The type of the result.
        is_method: Whether it is called on its first argument.
        call: What it does; raises `EvaluationError`.
    """

    id: str
    args: tuple[Type, ...]
    result: Type
    is_method: bool
    call: Callable[..., Value]


class Function(NamedTuple):
    """A function: its name, and its overloads."""

    name: str
    overloads: tuple[Overload, ...]


def overload(id: str, args: Iterable[Type], result: Type, call: Implementation) -> Overload:  # noqa: A002
    """Declare an overload of a function."""
    return Overload(id, tuple(args), result, False, call)


def method(id: str, args: Iterable[Type], result: Type, call: Implementation) -> Overload:  # noqa: A002
    """Declare an overload that is called on its first argument."""
    return Overload(id, tuple(args), result, True, call)


def function(name: str, *overloads: Overload) -> Function:
    """Declare a function."""
    return Function(name, overloads)


def merge(functions: Iterable[Function]) -> dict[str, Function]:
    """Collect functions of several libraries by name: overloads of one name belong together."""
    merged: dict[str, Function] = {}
    for function in functions:
        known = merged.get(function.name)
        merged[function.name] = Function(function.name, (known.overloads if known else ()) + function.overloads)
    return merged
